import { parseDurationMs } from '@mcm/api';
import { UserError } from '../command/errors.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { withCloud } from './connect.ts';

export interface InterruptOptions {
  readonly dataDir: string;
  readonly notice: string;
  readonly kind: string;
  readonly output: OutputFormat;
}

const KINDS = ['Terminate', 'Maintenance', 'Ended', 'Freeze', 'Rebalance'];

interface Named {
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

/** Runs `mcm cloud interrupt`: the emulated cloud announces the interruption of a VM. */
export async function interrupt(
  name: string,
  { dataDir, notice, kind, output }: InterruptOptions,
): Promise<readonly string[]> {
  const noticeMs = parseDurationMs(notice);
  if (noticeMs === undefined || noticeMs < 0) throw new UserError('--notice must be a duration such as 30s or 2m');
  if (!KINDS.includes(kind)) throw new UserError(`--kind must be one of ${KINDS.join(', ')}`);
  const said = formatted(output, { machine: name, kind, notice }, () => [
    `the cloud announced ${kind} of ${name} with a notice of ${notice}`,
  ]);
  return withCloud(dataDir, async ({ provider, call }) => {
    if (provider !== 'local') {
      await call('POST', '/_emulator/interruptions', { name, kind, noticeMs });
      return said;
    }
    const { items = [] }: { readonly items?: readonly Named[] } = JSON.parse(
      await call('GET', `/v1/instances?${new URLSearchParams({ name })}`),
    );
    const instance = items.find(({ state }) => state !== 'terminated');
    if (!instance) throw new UserError(`the cloud has no instance ${name}; list the instances with: mcm cloud list`);
    await call('POST', `/v1/instances/${instance.id}/interrupt`, { kind, notice });
    return said;
  });
}
