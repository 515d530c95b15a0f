import { Annotations, formatTime, phaseOf } from '@mcm/api';
import { isNodeOf } from '../../node/instance.ts';
import { awaitedReadiness } from '../../objects/machines.ts';
import { readinessTaints } from '../../settings/conditions.ts';
import type { MachineObservation } from '../model/observation.ts';
import { act, type Plan } from '../model/plan.ts';

/** A machine in these phases was never available, so mcm does not record its readiness taints. */
const BEFORE_RUNNING: ReadonlySet<string> = new Set(['Pending', 'CrashLoopBackOff']);

/**
 * Records readiness taints on machines, because the controllers of MachineSets and MachineDeployments do not read
 * Nodes. A machine with recorded readiness taints does not count as available. mcm records the readiness taints before
 * the phase becomes Running.
 */
export function planReadiness({ machine, node }: MachineObservation, now: Date): Plan | undefined {
  const phase = phaseOf(machine);
  if (!node || !phase || BEFORE_RUNNING.has(phase) || !isNodeOf(machine, node)) return undefined;
  const recorded = machine.metadata.annotations?.[Annotations.AwaitsReadiness];
  const keys = [...new Set(readinessTaints(node))].sort().join(',');
  const since = awaitedReadiness(machine)?.since ?? formatTime(now);
  const wanted = keys === '' ? undefined : `${since} ${keys}`;
  if (wanted === recorded) return undefined;
  const because = wanted
    ? 'the Node of the machine has readiness taints'
    : 'the Node of the machine has no readiness taints anymore';
  return act(because, { do: 'annotate', annotations: { [Annotations.AwaitsReadiness]: wanted ?? null } });
}
