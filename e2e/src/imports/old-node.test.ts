import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'vitest';
import { ROOT } from '../docs/sources.ts';
import { MAINS } from './mains.ts';

const HOOK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });
  registerHooks({
    resolve: (name, context, next) => {
      const found = next(name, context);
      process.stdout.write(found.url + '\\n');
      return found;
    },
  });
`)}`;

const ALL = { ...MAINS, 'mcm-conformance': 'packages/conformance/src' };

test.concurrent.for(Object.entries(ALL))(
  '%s verifies the version of Node.js before it imports a module that an old Node.js cannot link',
  async ([name, folder], context) => {
    const main = join(ROOT, folder, 'main.ts');
    const { code, out, log } = await new Promise<{ code: unknown; out: string; log: string }>((resolve) =>
      execFile(process.execPath, ['--conditions=source', `--import=${HOOK}`, main], (error, stdout, stderr) =>
        resolve({ code: error?.code, out: stdout, log: stderr }),
      ),
    );
    context
      .expect(log)
      .toBe(`${name} requires Node.js 22.19 or newer, but this is Node.js 20.20.2: install a newer Node.js\n`);
    context.expect(code).toBe(1);
    const others = out.split('\n').filter((url) => url !== '' && !/\/(main|start-program)\.ts$/.test(url));
    context.expect(others).toEqual([]);
  },
);
