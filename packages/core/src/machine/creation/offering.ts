import { Annotations } from '@mcm/api';
import type { MachineObservation, ObservedOffering, Shortage } from '../model/observation.ts';
import type { Plan } from '../model/plan.ts';

interface Waiting {
  readonly waitsFor: { readonly shortage?: Shortage; readonly until?: Date };
}

/** Returns true if the last creation failed because of missing capacity, so that the machine has no VM. */
export const refusedCapacity = ({ calls: { last } }: Pick<MachineObservation, 'calls'>): boolean =>
  last?.kind === 'create' && !last.outcome.ok && last.outcome.error.code === 'ResourceExhausted';

/**
 * Returns true if the machine may change its offering. A `create` call without a response may have created a VM, so the
 * results of all calls must be known.
 */
function isFree(o: MachineObservation, record: string | undefined): boolean {
  if (refusedCapacity(o)) return true;
  return !o.calls.createSent && (record === undefined || o.inherited === false);
}

const isShort = ({ shortage }: ObservedOffering, now: Date): boolean =>
  shortage !== undefined && !(shortage.free && now >= shortage.retryAt);

/**
 * Chooses the first offering without a known shortage. mcm records the offering before the `create` call, so that every
 * later process repeats the call with this offering.
 */
export function planOffering(
  o: MachineObservation,
  offerings: readonly ObservedOffering[],
  now: Date,
): Plan | Waiting | undefined {
  const record = o.machine.metadata.annotations?.[Annotations.CapacityOffering];
  const [first] = offerings;
  if (!isFree(o, record)) {
    if (record === undefined && first) return choose(o, first, 'the create call used the first offering of the class');
    return waitFor(
      offerings.filter((each) => each.record === record),
      now,
    );
  }
  const best = offerings.find((each) => !isShort(each, now));
  if (!best) return record === undefined ? waitFor(offerings, now) : forget();
  if (best.awaitsFirstCall && now < best.awaitsFirstCall) return { waitsFor: { until: best.awaitsFirstCall } };
  if (best.record === record) return undefined;
  return choose(o, best, 'the create call uses the first offering with capacity', best === first ? undefined : first);
}

function waitFor(offerings: readonly ObservedOffering[], now: Date): Waiting | undefined {
  const short = offerings.flatMap(({ shortage }) => (shortage ? [shortage] : []));
  if (short.length === 0 || offerings.some((each) => !isShort(each, now))) return undefined;
  const retryAt = new Date(Math.min(...short.map((each) => each.retryAt.getTime())));
  const [newest] = short;
  return newest && { waitsFor: { shortage: { ...newest, retryAt, free: false } } };
}

const forget = (): Plan => ({
  actions: [{ do: 'annotate', annotations: { [Annotations.CapacityOffering]: null } }],
  next: { kind: 'continue' },
  because: 'the cloud has no capacity for any offering of the class',
});

function choose(
  { machine }: MachineObservation,
  { record, text }: ObservedOffering,
  because: string,
  short?: ObservedOffering,
): Plan {
  const annotations = { [Annotations.CapacityOffering]: record };
  const event = short && {
    type: 'Normal' as const,
    reason: 'AlternativeChosen' as const,
    message: `The cloud has no capacity for ${short.text}, so mcm creates the VM of ${machine.metadata.name} with ${text}`,
  };
  return {
    actions: [{ do: 'annotate', annotations }, ...(event ? [{ do: 'say' as const, event }] : [])],
    next: { kind: 'continue' },
    because,
    intends: record,
  };
}
