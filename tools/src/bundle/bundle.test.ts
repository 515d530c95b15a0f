import { execFile } from 'node:child_process';
import { access, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isThorough } from '@mcm/kube/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BINARIES, binaryNamed } from './binaries.ts';
import { type Bundle, bundle } from './bundle.ts';
import { importParts, requireLazily, toAscii } from './lazy-loads.ts';
import { sharedBundles } from './shared.ts';

const run = promisify(execFile);
const LONG = 300_000;

const VENDORS: Readonly<Record<string, RegExp>> = {
  'machine-controller-aws': /^@(aws-sdk|smithy|aws)\//,
  'machine-controller-azure': /^@(azure|azure-rest|typespec)\//,
  'machine-controller-gcp': /^@google-cloud\/|^(google-|proto3-)/,
};

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: unknown;
}

let bundles: string;
let folder: string;
let again: Bundle;

beforeAll(async () => {
  [bundles, folder] = await Promise.all([sharedBundles(), mkdtemp(join(tmpdir(), 'mcm-bundle-'))]);
  again = await bundle(binaryNamed('machine-controller-aws'), join(folder, 'again'));
}, LONG);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a bundle like a user without this repository. */
const start = (name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}, from = bundles) =>
  run(process.execPath, [join(from, name, 'dist/main.js'), ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    maxBuffer: 1 << 24,
  });

/** Prints to standard error whether V8 accepted the compile cache. */
const TAKEN = `import { syncBuiltinESMExports } from 'node:module';
import vm from 'node:vm';
vm.Script = class extends vm.Script {
  constructor(...given) { super(...given); console.error('refused: ' + this.cachedDataRejected); }
};
syncBuiltinESMExports();`;
const SAYS_TAKEN = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TAKEN)}` };

test.each(BINARIES.map(({ name }) => name))(
  '%s runs alone, uses its compile cache, and prints its flags',
  async (name) => {
    const { stdout, stderr } = await start(name, ['--help'], SAYS_TAKEN);
    expect(stdout).toContain(`Usage: ${name} [options]`);
    expect(stderr).toContain('refused: false\n');
    const manifest = JSON.parse(await readFile(join(bundles, name, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest).toMatchObject({ name, type: 'module' });
    expect(manifest).not.toHaveProperty('dependencies');
  },
);

async function componentsIn(name: string): Promise<readonly Component[]> {
  const bill = JSON.parse(await readFile(join(bundles, name, 'sbom.cdx.json'), 'utf8')) as {
    readonly specVersion: string;
    readonly components: readonly Component[];
  };
  expect(bill.specVersion).toBe('1.6');
  return bill.components;
}

test('the SDK of a cloud is only in the program of that cloud', async () => {
  for (const { name } of BINARIES) {
    const packages = await componentsIn(name);
    const vendors = Object.keys(VENDORS).filter((owner) => packages.some((each) => VENDORS[owner]?.test(each.name)));
    expect(vendors, name).toEqual(name in VENDORS ? [name] : []);
  }
});

test('a program leaves out the parts of large libraries that it does not use', async () => {
  const unused: Readonly<Record<string, readonly string[]>> = {
    'machine-controller-local': ['WebSocketStream', 'MockAgent'],
    'machine-controller-aws': ['CreateTransitGateway', 'DescribeSpotFleetRequests'],
    'machine-controller-gcp': ['google.iam.v1.GetPolicyOptions'],
  };
  for (const [name, texts] of Object.entries(unused)) {
    const program = await readFile(join(bundles, name, 'dist/program.js'), 'utf8');
    for (const text of texts) expect(program.includes(text), `${name}: ${text}`).toBe(false);
  }
  const aws = await readFile(join(bundles, 'machine-controller-aws/dist/program.js'), 'utf8');
  expect(aws).toContain('RunInstancesRequest');
  // The file with the error messages of zod in Hebrew, as an example of an unused language.
  expect(aws).not.toContain('zod/v4/locales/he.js');
});

test.runIf(isThorough)(
  'mcm up starts a fleet from bundles only, and renders machine configs with the templates of a bundle',
  {
    timeout: LONG,
  },
  async () => {
    const data = join(folder, 'configs');
    const flags = ['--machine-config', '--exit-when-ready', '--no-tty', '--machines=1', `--data-dir=${data}`];
    const { stdout } = await start('mcm', ['up', ...flags]);
    expect(stdout).toContain('machine-config-controller ready');
    await access(join(bundles, 'machine-config-controller/templates/worker/00-worker'));
    expect(stdout).toContain('ready: 3 machines Running');

    const config = join(folder, 'config.json');
    const labels = { 'machineconfiguration.openshift.io/role': 'worker' };
    const object = {
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineConfig',
      metadata: { name: '99-worker', labels },
      spec: { kernelArguments: ['quiet'] },
    };
    await writeFile(config, JSON.stringify(object));
    const rendered = await start('mcm', ['config', 'render', config, '--pool', 'worker']);
    expect(rendered.stdout).toContain(
      '# Sources: 00-worker, 01-worker-container-runtime, 01-worker-kubelet, 99-worker',
    );
  },
);

test('the same sources give the same bytes in any folder', async () => {
  const first = join(bundles, again.binary.name);
  const files = await readdir(first, { recursive: true });
  expect(files).toContain(`dist/program.${process.version}-${process.arch}.cache`);
  for (const file of files.filter((each) => each !== 'dist')) {
    const [one, other] = await Promise.all([first, again.folder].map((root) => readFile(join(root, file))));
    expect(one?.equals(other ?? Buffer.alloc(0)), file).toBe(true);
  }
  const text = await readFile(join(first, 'dist/program.js'), 'utf8');
  expect(text).not.toContain(process.cwd());
});

test('a program without a valid compile cache is compiled at its start', async () => {
  const name = 'local-cloud';
  await cp(join(bundles, name), join(folder, name), { recursive: true });
  const compiled = join(folder, name, `dist/program.${process.version}-${process.arch}.cache`);
  const kept = await readFile(compiled);
  await writeFile(compiled, kept.subarray(0, kept.length / 2));
  const { stdout, stderr } = await start(name, ['--help'], SAYS_TAKEN, folder);
  expect(stderr).toContain('refused: true\n');
  await rm(compiled);
  expect((await start(name, ['--help'], {}, folder)).stdout).toBe(stdout);
});

test('only the used names of Node.js modules are read, so that expensive ones are not loaded', async () => {
  const text = await readFile(join(bundles, 'machine-controller-manager/dist/program.js'), 'utf8');
  expect(text.includes('process.getBuiltinModule("node:http")')).toBe(true);
  expect(text.includes('("WebSocket")')).toBe(false);
});

test('the bill of materials lists the content of the bundle with version, license and package URL, and the licenses are included', async () => {
  const names = (all: readonly { readonly name: string }[]) => new Set(all.map(({ name }) => name));
  expect(names(await componentsIn(again.binary.name))).toEqual(names(again.packages));
  for (const { name: binary } of BINARIES) {
    const texts = await readFile(join(bundles, binary, 'LICENSES.txt'), 'utf8');
    expect(texts).toMatch(/Permission (is hereby granted|to use)/);
    for (const { name, version, purl, licenses } of await componentsIn(binary)) {
      expect(texts, `text of ${name}`).toContain(`${name} ${version} (`);
      expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`);
      expect(licenses, `licence of ${name} in ${binary}`).toBeDefined();
    }
  }
});

test('lazy loads remain lazy in a bundle, and include only the named parts', () => {
  expect(requireLazily("const pino = load('pino') as Pino;")).toBe("const pino = require('pino') as Pino;");
  expect(requireLazily("createRequire(import.meta.url)('yaml')")).toBe("require('yaml')");
  expect(requireLazily('reload(x)')).toBe('reload(x)');
  expect(() => requireLazily('load(LIB + name) as Pool')).toThrow(
    'load(LIB + name): the module name of a dynamic import must be a constant',
  );
  expect(importParts("const { A, B } = await import('big');")).toBe(
    "const { A, B } = await import('parts-of:A,B:big');",
  );
  expect(importParts("await import('./command.ts');")).toBe("await import('./command.ts');");
});

test('a controller is ASCII, which needs one byte per character in memory, and behaves the same', async () => {
  expect(toAscii("const micro = 'µs…';")).toBe("const micro = '\\u00b5s\\u2026';");
  for (const { name } of BINARIES) {
    if (!/^machine-con(troller|fig)-/.test(name)) continue;
    const bytes = await readFile(join(bundles, name, 'dist/program.js'));
    expect(
      bytes.every((byte) => byte < 0x80),
      name,
    ).toBe(true);
  }
});

test('regular expressions of CRDs are unchanged in a bundle, because Go does not support the escapes of esbuild', async () => {
  const { stdout } = await start('mcm', ['install', '--dry-run', '--provider', 'local']);
  expect(stdout).toContain('|µs|');
  expect(stdout).not.toContain('\\u00');
});

test('an unknown program is refused with the existing names', () => {
  expect(() => binaryNamed('mcm-x')).toThrow('unknown binary "mcm-x"; known binaries: machine-controller-manager, ');
});
