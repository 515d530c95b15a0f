import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

/** `load('pino')` and `createRequire(import.meta.url)('yaml')`: how the sources put off what is dear to load. */
const LAZY = /\b(?:load|createRequire\(import\.meta\.url\))\((['"][^'"]+['"])\)/g;

/** The same with a name that is only known when it runs. */
const BLIND = /\b(?:load|createRequire\(import\.meta\.url\))\((?!['"])[^)]*\)(?= as )/;

/**
 * In what the bundler reads, the two forms become `require(…)`, which it follows and still runs at its first use only.
 * @throws Error for a name that it could not follow: in a bundle nothing would be found
 */
export function requireLazily(source: string): string {
  const [blind] = BLIND.exec(source) ?? [];
  if (blind !== undefined) throw new Error(`${blind}: what is loaded late must be named in full`);
  return source.replaceAll(LAZY, 'require($1)');
}

/** One character beyond ASCII makes Node keep the whole file in memory at two bytes a character; strings and patterns read these the same. */
export const toAscii = (source: string): string =>
  source.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** `const { KubeConfig } = await import('…')`: what is wanted of a big package. */
const PARTS = /\bconst \{ ([\w, ]+) \} = await import\('([^'.][^']*)'\)/g;
const PART_PREFIX = 'parts-of:';

/** A late import of some names becomes one of a module that has only these, so that the bundler can leave out the others. */
export const importParts = (source: string): string =>
  source.replaceAll(PARTS, (_all, names: string, from: string) => {
    const list = names.split(',').map((name) => name.trim());
    return `const { ${names} } = await import('${PART_PREFIX}${list.join(',')}:${from}')`;
  });

/** Where a big package keeps what is asked of it; asking its front door would take all of it along: 5 MB of models. */
const SIDE_DOORS: Readonly<Record<string, string>> = {
  'KubeConfig:@kubernetes/client-node': '@kubernetes/client-node/dist/config.js',
};

/** The generated client of the Kubernetes API, of which a kubeconfig needs the way to a server and none of the models. */
const GENERATED_CLIENT = /\/@kubernetes\/client-node\/dist\/gen\/index\.js$/;
const CONNECTION_ONLY =
  "export * from './configuration.js'; export * from './servers.js'; export * from './http/http.js';";

/** The one package of others with such characters in patterns, which the bundler copies as they are. */
const BEYOND_ASCII = /\/node_modules\/liquidjs\/.*\.m?js$/;

/** Has the bundler follow what the workspace's sources load late, and leave out what of it they never name. */
export const lazyLoads: Plugin = {
  name: 'lazy-loads',
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      if (path.includes('/node_modules/')) return undefined;
      const source = await readFile(path, 'utf8');
      return { contents: toAscii(importParts(requireLazily(source))), loader: 'ts' };
    });
    build.onLoad({ filter: BEYOND_ASCII }, async ({ path }) => ({ contents: toAscii(await readFile(path, 'utf8')) }));
    build.onResolve({ filter: new RegExp(`^${PART_PREFIX}`) }, ({ path, resolveDir }) => ({
      path: path.slice(PART_PREFIX.length),
      namespace: PART_PREFIX,
      pluginData: resolveDir,
    }));
    build.onLoad({ filter: /./, namespace: PART_PREFIX }, ({ path, pluginData }) => {
      const colon = path.indexOf(':');
      const from = SIDE_DOORS[path] ?? path.slice(colon + 1);
      return { contents: `export { ${path.slice(0, colon)} } from '${from}';`, resolveDir: String(pluginData) };
    });
    build.onLoad({ filter: GENERATED_CLIENT }, () => ({ contents: CONNECTION_ONLY }));
  },
};
