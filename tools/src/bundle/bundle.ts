import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { ROOT } from '../root.ts';
import { billOfMaterials, componentsOf } from '../sbom/sbom.ts';
import { BINARIES, type Binary } from './binaries.ts';
import { lazyLoads } from './lazy-loads.ts';

/** A program as one file. */
export interface Bundle {
  readonly binary: Binary;
  readonly version: string;
  readonly license: string;
  /** Holds `package.json`, `dist/main.js`, its map, `sbom.cdx.json`, and the assets. */
  readonly folder: string;
  /** `dist/main.js` in it. */
  readonly file: string;
  /** Bytes of the file. */
  readonly bytes: number;
  /** Packages of others that are in it, as paths below `node_modules` name them. */
  readonly packages: readonly PackageIn[];
}

/** A package of others that is in a bundle. */
export interface PackageIn {
  readonly name: string;
  /** Folder of its package.json. */
  readonly folder: string;
}

/** Programs find each other, and their assets, beside themselves: `<name>/dist/main.js`. */
function resolver(): string {
  const programs = Object.fromEntries(BINARIES.map(({ specifier, name }) => [specifier, `../../${name}/dist/main.js`]));
  return [
    `const mcmPrograms = ${JSON.stringify(programs)};`,
    "const mcmAsset = (what) => '../' + what.split('/').slice(2).join('/');",
    'const mcmResolve = (what) => new URL(mcmPrograms[what] ?? mcmAsset(what), import.meta.url).href;',
  ].join('\n');
}

/** What CommonJS packages inside an ES module need. */
const REQUIRE = [
  "import { createRequire as mcmCreateRequire } from 'node:module';",
  'const require = mcmCreateRequire(import.meta.url);',
].join('\n');

const inNodeModules = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//;

function packagesOf({ inputs }: Metafile): readonly PackageIn[] {
  const found = new Map<string, PackageIn>();
  for (const path of Object.keys(inputs)) {
    const [, folder, name] = inNodeModules.exec(path) ?? [];
    if (folder !== undefined && name !== undefined) found.set(folder, { name, folder: join(ROOT, folder) });
  }
  return [...found.values()].toSorted((a, b) => (a.folder < b.folder ? -1 : 1));
}

async function copyAssets(binary: Binary, folder: string): Promise<void> {
  for (const asset of binary.assets) {
    const from = join(ROOT, binary.folder, asset);
    if (!existsSync(from)) continue; // A program whose defaults were taken out says so itself when they are asked for.
    await cp(from, join(folder, basename(asset)), { recursive: true });
  }
}

/**
 * Bundles a program with all its packages into `<into>/<name>/dist/main.js`. The same sources give the same bytes on
 * every machine. Identifiers keep their names, so that a stack can be read without the map.
 */
export async function bundle(binary: Binary, into: string): Promise<Bundle> {
  const folder = join(into, binary.name);
  const file = join(folder, 'dist/main.js');
  const { version, license } = JSON.parse(await readFile(join(ROOT, binary.folder, 'package.json'), 'utf8')) as {
    version: string;
    license: string;
  };
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [join(binary.folder, binary.entry)],
    outfile: file,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    conditions: ['source'],
    plugins: [lazyLoads],
    define: { 'import.meta.resolve': 'mcmResolve' },
    banner: { js: `${REQUIRE}\n${resolver()}` },
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    sourcemap: 'external',
    sourcesContent: false,
    metafile: true,
    logLevel: 'silent',
  });
  await mkdir(folder, { recursive: true });
  const manifest = { name: binary.name, version, license, type: 'module', bin: { [binary.name]: './dist/main.js' } };
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const packages = packagesOf(metafile);
  const bill = billOfMaterials({ name: binary.name, version, license }, await componentsOf(packages));
  await writeFile(join(folder, 'sbom.cdx.json'), `${JSON.stringify(bill, null, 2)}\n`);
  await copyAssets(binary, folder);
  return { binary, version, license, folder, file, bytes: (await stat(file)).size, packages };
}
