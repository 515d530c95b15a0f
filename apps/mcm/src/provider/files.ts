import type { ProviderName } from './names.ts';

/** The package of a new provider starts as a copy of the example. */
export interface Example {
  readonly driver: string;
  readonly cloud: string;
  readonly config: string;
}

const rename = (text: string, { plain, pascal }: ProviderName): string =>
  text
    .replaceAll('./toy-cloud.ts', './cloud.ts')
    .replaceAll('toy-driver.ts', 'src/driver.ts')
    .replaceAll('toy.yaml', 'conformance.yaml')
    .replaceAll(/\bToy(?=[A-Z])|(?<=[a-z])Toy(?=[A-Z])/g, pascal)
    .replaceAll('toy', plain);

/**
 * Returns the files in the package of a new provider, by their path in its folder.
 * @param version the version of the mcm packages
 */
export function providerFiles(name: ProviderName, example: Example, version: string): ReadonlyMap<string, string> {
  return new Map([
    ['package.json', packageJson(name, version)],
    ['tsconfig.json', TSCONFIG],
    ['.gitignore', 'node_modules\ndist\nconformance.xml\n'],
    ['src/driver.ts', rename(example.driver, name)],
    ['src/cloud.ts', rename(example.cloud, name)],
    ['src/main.ts', MAIN],
    ['src/driver.test.ts', test(name)],
    ['conformance.yaml', rename(example.config, name)],
    ['README.md', readme(name)],
    ['.github/workflows/ci.yaml', CI],
  ]);
}

function packageJson({ plain }: ProviderName, version: string): string {
  const range = `^${version}`;
  const content = {
    name: `machine-controller-${plain}`,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=22.19.0' },
    bin: { [`machine-controller-${plain}`]: './dist/main.js' },
    scripts: {
      start: 'node src/main.ts',
      test: 'node --test "src/**/*.test.ts"',
      conformance: 'mcm-conformance --driver ./src/driver.ts --config conformance.yaml --junit conformance.xml',
      typecheck: 'tsc --noEmit',
      build: 'tsc',
    },
    dependencies: { '@mcm/core': range, '@mcm/kube': range, zod: '^4.0.0' },
    devDependencies: { '@mcm/conformance': range, '@types/node': '^24.0.0', typescript: '^7.0.0' },
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2024",
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "exactOptionalPropertyTypes": true,
    "noUncheckedIndexedAccess": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "rewriteRelativeImportExtensions": true,
    "skipLibCheck": true,
    "rootDir": "src",
    "outDir": "dist",
    "sourceMap": true
  },
  "include": ["src"]
}
`;

const MAIN = `#!/usr/bin/env node
import { processContext, runMachineController } from '@mcm/core';
import { createDriver } from './driver.ts';

await runMachineController(createDriver(processContext()));
`;

const test = ({ plain }: ProviderName): string => `import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { readConfig, runConformance } from '@mcm/conformance';
import * as driver from './driver.ts';

test('the driver conforms', async () => {
  const path = 'conformance.yaml';
  const config = readConfig(path, await readFile(path, 'utf8'), process.env);
  const report = await runConformance({ name: '${plain}', ...driver, ...config });
  const failures = report.outcomes.filter(({ state }) => state === 'failed');
  assert.deepEqual(
    failures.map(({ scenario, why }) => \`\${scenario.name}: \${why}\`),
    [],
  );
});
`;

const readme = ({ plain }: ProviderName): string => `# machine-controller-${plain}

This package contains the driver of mcm for ${plain}, and the program machine-controller-${plain}.

| Command                   | Effect                                                           |
| ------------------------- | ---------------------------------------------------------------- |
| \`npm run conformance\`     | tests the driver, and writes the report \`conformance.xml\` for CI |
| \`npm test\`                | tests the driver in the test runner of Node.js                   |
| \`npm start -- schema\`     | prints the JSON Schema of a MachineClass and its Secret          |
| \`npm start -- --help\`     | prints the flags of the program                                  |

\`src/driver.ts\` is the driver, \`src/cloud.ts\` emulates the cloud in tests, and \`conformance.yaml\` contains the errors of the cloud.
`;

const CI = `name: ci
on: [push, pull_request]
jobs:
  conformance:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-node@v5
        with:
          node-version: 24
      - run: npm ci
      - run: npm run typecheck
      - run: npm test
      - run: npm run conformance
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: conformance
          path: conformance.xml
`;
