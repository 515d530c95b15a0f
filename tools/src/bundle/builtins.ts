import { builtinModules, isBuiltin } from 'node:module';
import type { Plugin } from 'esbuild';

const NAMESPACE = 'builtin';
/** In bundled code, one of Node's own modules. */
const ASKED = 'process.getBuiltinModule';

/** What can be imported by name. */
const named = (module: string): readonly string[] =>
  Object.keys(process.getBuiltinModule(module) ?? {}).filter(
    (name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== 'default',
  );

/** A module of Node as one of the bundle, of which the bundler drops the names that nobody imports. */
const contentsOf = (module: string): string =>
  [
    `const all = ${ASKED}('${module}');`,
    'const of = (name) => all[name];',
    'export default all;',
    ...named(module).map((name) => `const $${name} = /* @__PURE__ */ of('${name}'); export { $${name} as ${name} };`),
  ].join('\n');

/**
 * Node's modules, by what is used of them. An import reads every name of a module, so as to offer it: for `node:http` that loads
 * the clients of WebSocket and EventSource, a tenth of a controller's start, which nobody here uses.
 */
export const builtins: Plugin = {
  name: 'builtins',
  setup(build) {
    build.onResolve({ filter: new RegExp(`^(node:|(${builtinModules.join('|')})$)`) }, ({ path, kind }) => {
      if (kind === 'require-call' || !isBuiltin(path)) return undefined;
      return { path: path.startsWith('node:') ? path : `node:${path}`, namespace: NAMESPACE };
    });
    build.onLoad({ filter: /./, namespace: NAMESPACE }, ({ path }) => ({ contents: contentsOf(path) }));
  },
};
