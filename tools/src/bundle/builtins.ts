import { builtinModules, isBuiltin } from 'node:module';
import type { Plugin } from 'esbuild';

const NAMESPACE = 'builtin';
const ASKED = 'process.getBuiltinModule';

const named = (module: string): readonly string[] =>
  Object.keys(process.getBuiltinModule(module) ?? {}).filter(
    (name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== 'default',
  );

/** Returns a module that replaces a Node.js module, such as `node:http`, in the bundle. */
const contentsOf = (module: string): string =>
  [
    `const all = ${ASKED}('${module}');`,
    'const of = (name) => all[name];',
    'export default all;',
    ...named(module).map((name) => `const $${name} = /* @__PURE__ */ of('${name}'); export { $${name} as ${name} };`),
  ].join('\n');

/**
 * A bundler plugin that reads only the used names of Node.js modules, because a usual import reads every name of a
 * module. An import of all names of `node:http` would load the unused clients of WebSocket and EventSource.
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
