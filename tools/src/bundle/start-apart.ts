import { join } from 'node:path';
import type { Plugin } from 'esbuild';

/** The module that contains the program. Each `main.ts` sets the options of V8, and then loads this module. */
const COMMAND = './command.ts';

/** Returns the path of the module that contains the program, but does not start it. */
export const commandOf = (entry: string): string => entry.replace(/main\.ts$/, 'command.ts');

export const startApart: Plugin = {
  name: 'start-apart',
  setup(build) {
    build.onResolve({ filter: /^\.\/command\.ts$/ }, ({ path, importer }) =>
      path === COMMAND && importer.endsWith('main.ts')
        ? { path: join(import.meta.dirname, 'load-program.ts') }
        : undefined,
    );
  },
};
