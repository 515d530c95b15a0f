import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'vitest';
import { ROOT } from '../docs/sources.ts';
import { MAINS } from './mains.ts';

/** Makes the main module of a binary throw an error at its load. */
const HOOK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    load: (url, context, next) =>
      url.endsWith('/command.ts')
        ? { format: 'module', shortCircuit: true, source: 'throw new TypeError("a module is broken")' }
        : next(url, context),
  });
`)}`;

test.concurrent.for(Object.entries(MAINS))(
  '%s reports on the last line of its log why it cannot be loaded',
  async ([name, folder], context) => {
    const main = join(ROOT, folder, 'main.ts');
    const { code, log } = await new Promise<{ code: unknown; log: string }>((resolve) =>
      execFile(process.execPath, ['--conditions=source', `--import=${HOOK}`, main], (error, _stdout, stderr) =>
        resolve({ code: error?.code, log: stderr }),
      ),
    );
    context.expect(code).toBe(1);
    context.expect(log).toContain('TypeError: a module is broken\n    at ');
    context.expect(log.trimEnd().split('\n').at(-1)).toBe(`${name}: the program could not start: a module is broken`);
  },
);
