import { diffConfigs } from '../config/diff.ts';
import { irreconcilable } from '../config/reconcile.ts';
import { IgnitionError } from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { Verdict } from './decide.ts';
import type { DaemonHost } from './disk/host.ts';
import {
  DEFAULT_POLICY,
  type DisruptionPolicy,
  isSafeRegistries,
  needsDrain,
  postActions,
} from './policy/disruption.ts';

export const missing = (name: string): Exclude<Verdict, { kind: 'fits' }> => ({
  kind: 'missing',
  reason: `MachineConfig ${JSON.stringify(name)} not found`,
});

/** Checks whether a machine can change to a config, and whether the change needs a drain. */
export function evaluateUpdate(
  from: MachineConfig | undefined,
  to: MachineConfig,
  on: { readonly host: DaemonHost; readonly policy: DisruptionPolicy | undefined },
): Verdict {
  const { host, policy = DEFAULT_POLICY } = on;
  try {
    const refused = from && irreconcilable(from, to)?.message;
    if (refused !== undefined) return { kind: 'refused', reason: refused };
    const diff = diffConfigs(from, to);
    const cannot = host.unsupported?.(diff, to);
    if (cannot !== undefined) return { kind: 'refused', reason: cannot };
    return { kind: 'fits', drains: needsDrain(postActions(diff, policy), () => isSafeRegistries(from, to)) };
  } catch (error) {
    if (error instanceof IgnitionError) return { kind: 'refused', reason: error.message };
    throw error;
  }
}
