import { existsSync, realpathSync } from 'node:fs';
import { cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { PACKAGES } from '@mcm/dashboard';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { ROOT } from '../root.ts';
import { BINARIES, type Binary } from './binaries.ts';
import { builtins } from './builtins.ts';
import { compile } from './compile.ts';
import { lazyLoads } from './lazy-loads.ts';
import { licenceTexts } from './sbom/licences.ts';
import type { PackageIn } from './sbom/package-in.ts';
import { billOfMaterials, componentsOf } from './sbom/sbom.ts';
import { slimSdks } from './slim-sdks.ts';
import { commandOf, startApart } from './start-apart.ts';

export interface Bundle {
  readonly binary: Binary;
  readonly version: string;
  readonly license: string;
  readonly folder: string;
  readonly file: string;
  readonly program: string;
  readonly bytes: number;
  /** Third-party packages in the bundle, as paths below `node_modules`. */
  readonly packages: readonly PackageIn[];
}

/**
 * Returns the code with which a bundled program finds other programs and asset files by relative paths, such as
 * `<name>/dist/main.js`.
 */
function resolver(): string {
  const programs = Object.fromEntries(BINARIES.map(({ specifier, name }) => [specifier, `../../${name}/dist/main.js`]));
  return [
    `const mcmPrograms = ${JSON.stringify(programs)};`,
    "const mcmAsset = (what) => what.startsWith('file:') ? what : '../' + what.split('/').slice(2).join('/');",
    'const mcmResolve = (what) => new URL(mcmPrograms[what] ?? mcmAsset(what), mcmUrl).href;',
  ].join('\n');
}

const inNodeModules = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//;

/**
 * The script of the dashboard page already contains the code of its npm packages, so the bundler finds no imports of
 * these packages.
 */
const PAGE = 'apps/dashboard/src/generated/page.ts';

function packagesOf({ inputs }: Metafile): readonly PackageIn[] {
  const found = new Map<string, PackageIn>();
  for (const name of PAGE in inputs ? PACKAGES : []) {
    const folder = relative(ROOT, realpathSync(packageFolder(name)));
    found.set(folder, { name, folder: join(ROOT, folder) });
  }
  for (const path of Object.keys(inputs)) {
    const [, folder, name] = inNodeModules.exec(path) ?? [];
    if (folder !== undefined && name !== undefined) found.set(folder, { name, folder: join(ROOT, folder) });
  }
  return [...found.values()].toSorted((a, b) => (a.folder < b.folder ? -1 : 1));
}

/**
 * Returns the folder of an npm package that the dashboard page contains. An indirect dependency is in the same
 * `node_modules` folder as the package that needs the dependency.
 */
function packageFolder(name: string): string {
  const own = join(ROOT, 'apps/dashboard/node_modules');
  const places = [
    own,
    ...PACKAGES.map((other) => join(own, other))
      .filter(existsSync)
      .map(nodeModulesOf),
  ];
  const found = places.map((place) => join(place, name)).find(existsSync);
  if (found === undefined) throw new Error(`the package ${name} of the dashboard is not installed`);
  return found;
}

const nodeModulesOf = (folder: string): string => realpathSync(folder).replace(/(.*\/node_modules)\/.*/, '$1');

async function copyAssets(binary: Binary, folder: string): Promise<void> {
  for (const asset of binary.assets) {
    const from = join(ROOT, binary.folder, asset);
    if (!existsSync(from)) continue; // The program reports a missing default asset at its first use.
    await cp(from, join(folder, basename(asset)), { recursive: true });
  }
}

const SETTINGS = {
  absWorkingDir: ROOT,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  conditions: ['source'],
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'silent',
} as const satisfies BuildOptions;

/**
 * Runs esbuild with additional options, and writes the bundle into a folder. The build uses the same output path on all
 * machines, because source maps contain paths relative to the output.
 */
async function write(into: string, given: BuildOptions & { readonly outfile: string }): Promise<Metafile> {
  const outfile = join('dist/bundle', given.outfile);
  const { outputFiles, metafile } = await build({ ...SETTINGS, ...given, outfile, write: false, metafile: true });
  for (const { path, contents } of outputFiles) await writeFile(join(into, basename(path)), contents);
  return metafile;
}

/**
 * Bundles a program with all its packages into `<into>/<name>/dist`. `main.js` sets the options of V8 and then loads
 * `program.js`, which has a compile cache. The same sources and the same Node.js produce the same bytes on every
 * machine. Functions and variables keep their names, so that stack traces are readable without the source map.
 */
export async function bundle(binary: Binary, into: string): Promise<Bundle> {
  const folder = join(into, binary.name);
  const dist = join(folder, 'dist');
  const [file, program] = [join(dist, 'main.js'), join(dist, 'program.js')];
  const { version, license } = JSON.parse(await readFile(join(ROOT, binary.folder, 'package.json'), 'utf8')) as {
    version: string;
    license: string;
  };
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  await write(dist, {
    entryPoints: [join(binary.folder, binary.entry)],
    outfile: 'main.js',
    plugins: [startApart, builtins],
  });
  const metafile = await write(dist, {
    entryPoints: [join(binary.folder, commandOf(binary.entry))],
    outfile: 'program.js',
    plugins: [builtins, slimSdks, lazyLoads],
    define: {
      'import.meta.url': 'mcmUrl',
      'import.meta.resolve': 'mcmResolve',
      // With this constant, esbuild omits the experimental HTTP parser of undici.
      esbuildDetection: 'true',
    },
    // The bundled program is a classic script, because V8 cannot cache the code of an ES module.
    banner: { js: `(async (require, mcmUrl) => {"use strict";\n${resolver()}` },
    footer: { js: '})' },
    sourcemap: 'external',
    sourcesContent: false,
  });
  const manifest = { name: binary.name, version, license, type: 'module', bin: { [binary.name]: './dist/main.js' } };
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const packages = packagesOf(metafile);
  const bill = billOfMaterials({ name: binary.name, version, license }, await componentsOf(packages));
  await writeFile(join(folder, 'sbom.cdx.json'), `${JSON.stringify(bill, null, 2)}\n`);
  await writeFile(join(folder, 'LICENSES.txt'), await licenceTexts(packages));
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  await copyAssets(binary, folder);
  await compile(binary, dist);
  return { binary, version, license, folder, file, program, bytes: (await stat(program)).size, packages };
}
