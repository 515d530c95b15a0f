import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'vitest';
import { ROOT } from '../docs/sources.ts';

const MAINS = {
  'machine-controller-manager': 'apps/machine-controller-manager/src',
  'machine-config-controller': 'apps/machine-config-controller/src',
  'machine-config-daemon': 'apps/machine-config-daemon/src',
  'machine-controller-aws': 'providers/aws/src',
  'machine-controller-azure': 'providers/azure/src',
  'machine-controller-gcp': 'providers/gcp/src',
  'machine-controller-local': 'providers/local/src',
  'local-cloud': 'providers/local/src/cloud',
  'cloud-emulator': 'apps/cloud-emulators/src',
  'control-plane': 'packages/control-plane/src',
  mcm: 'apps/mcm/src',
};

/** Has the module that is all of a binary throw when it is loaded. */
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
  '%s, which cannot be loaded, says why on the last line of its log',
  async ([name, folder], context) => {
    const main = join(ROOT, folder, 'main.ts');
    const { code, log } = await new Promise<{ code: unknown; log: string }>((resolve) =>
      execFile(process.execPath, ['--conditions=source', `--import=${HOOK}`, main], (error, _stdout, stderr) =>
        resolve({ code: error?.code, log: stderr }),
      ),
    );
    context.expect(code).toBe(1);
    context.expect(log).toContain('TypeError: a module is broken\n    at ');
    context
      .expect(log.trimEnd().split('\n').at(-1))
      .toBe(`${name}: a fault of this program ended it before it began: a module is broken`);
  },
);
