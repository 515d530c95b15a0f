import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

const LAZY = /\b(?:load|createRequire\(import\.meta\.url\))\((['"][^'"]+['"])\)/g;

/** Matches a lazy load of a module whose name is only known at run time. */
const BLIND = /\b(?:load|createRequire\(import\.meta\.url\))\((?!['"])[^)]*\)(?= as )/;

/**
 * Converts lazy loads of modules to `require(…)`.
 * @throws Error if a module name is only known at run time, because the bundle would not contain the module.
 */
export function requireLazily(source: string): string {
  const [blind] = BLIND.exec(source) ?? [];
  if (blind !== undefined) throw new Error(`${blind}: the module name of a dynamic import must be a constant`);
  return source.replaceAll(LAZY, 'require($1)');
}

/**
 * Escapes the characters outside of ASCII in a source file. If a file contains one such character, Node.js needs two
 * bytes for each character of the file.
 */
export const toAscii = (source: string): string =>
  source.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const PARTS = /\bconst \{ ([\w, ]+) \} = await import\('([^'.][^']*)'\)/g;
const PART_PREFIX = 'parts-of:';

/** Marks each import of certain names, so that the bundler can omit all other names of the module. */
export const importParts = (source: string): string =>
  source.replaceAll(PARTS, (_all, names: string, from: string) => {
    const list = names.split(',').map((name) => name.trim());
    return `const { ${names} } = await import('${PART_PREFIX}${list.join(',')}:${from}')`;
  });

/**
 * For some large packages, the modules that contain only the needed parts. The main module of such a package would add
 * 5 MB of unused models to the bundle.
 */
const PART_MODULES: Readonly<Record<string, string>> = {
  'KubeConfig:@kubernetes/client-node': '@kubernetes/client-node/dist/config.js',
};

/** Each EC2 command has a separate file, but the main file loads all 700 commands. */
const EC2 = '@aws-sdk/client-ec2';

function exportsOf(names: readonly string[], from: string): string {
  if (from === EC2) {
    const fileOf = (name: string): string => `${EC2}/dist-es/${name.endsWith('Command') ? 'commands/' : ''}${name}.js`;
    return names.map((name) => `export { ${name} } from '${fileOf(name)}';`).join('\n');
  }
  return `export { ${names.join(', ')} } from '${PART_MODULES[`${names.join(',')}:${from}`] ?? from}';`;
}

/** Programs use only the code of the client for kubeconfig files, which needs no generated models. */
const GENERATED_CLIENT = /\/@kubernetes\/client-node\/dist\/gen\/index\.js$/;
const CONNECTION_ONLY =
  "export * from './configuration.js'; export * from './servers.js'; export * from './http/http.js';";

/** Third-party packages with regular expressions that contain characters beyond ASCII. */
const BEYOND_ASCII = /\/node_modules\/(?:liquidjs|@marcbachmann\/cel-js)\/.*\.m?js$/;

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
      const contents = exportsOf(path.slice(0, colon).split(','), path.slice(colon + 1));
      return { contents, resolveDir: String(pluginData) };
    });
    build.onLoad({ filter: GENERATED_CLIENT }, () => ({ contents: CONNECTION_ONLY }));
  },
};
