import { Annotations, TRUE_LOWER } from '@mcm/api';
import type { DrainPlan } from '../../drain/drain.ts';
import { stopsRequests } from '../../drain/requests/requested.ts';
import type { MachineObservation } from './observation.ts';
import { type Action, act, type Plan } from './plan.ts';

const hasRequests = ({ machine }: MachineObservation): boolean =>
  machine.metadata.annotations?.[Annotations.EvictionRequests] !== undefined;

/**
 * Another process must be able to withdraw EvictionRequests, so mcm writes an annotation on the Machine before it
 * creates the first EvictionRequest.
 */
export function planPods(o: MachineObservation, plan: DrainPlan, because: string, now: Date): Plan | undefined {
  const stops = o.drain !== undefined && stopsRequests(o.drain, now);
  if (stops && hasRequests(o)) return act('the undrainable policy stops evictions', { do: 'withdrawEvictions' });
  if (o.drain?.requests === 'unknown' && plan.evict.length + plan.leaving.length > 0)
    return act('reading the API kinds that the API server supports', { do: 'findEvictionApi' });
  const actions: Action[] = [];
  if (plan.evict.length > 0) {
    if (o.drain?.requests === 'served' && !stops && !hasRequests(o))
      actions.push({ do: 'annotate', annotations: { [Annotations.EvictionRequests]: TRUE_LOWER } });
    actions.push({ do: 'evict', pods: plan.evict });
  }
  if (plan.remove.length > 0) actions.push({ do: 'deletePods', pods: plan.remove, because: plan.removeBecause });
  if (actions.length > 0) return act(because, ...actions);
  return plan.readsResponders ? act('reading the Evictions of the pods', { do: 'readEvictions' }) : undefined;
}

export const planWithdrawal = (o: MachineObservation): Plan | undefined =>
  o.drain === undefined && o.hasTarget && hasRequests(o)
    ? act('the drain of the Node has ended', { do: 'withdrawEvictions' })
    : undefined;
