import { join } from 'node:path';
import type { Plugin } from 'esbuild';

/** The module that `main.ts` of every program loads after the setup of V8. */
const COMMAND = './command.ts';

/** The module that is all of a program but its start. */
export const commandOf = (entry: string): string => entry.replace(/main\.ts$/, 'command.ts');

/** Leaves the start of a program alone in its file, and has it run the file with the rest. */
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
