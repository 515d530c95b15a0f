import { Annotations } from '@mcm/api';
import type { MachineObservation, ObservedOffering, Shortage } from '../model/observation.ts';
import type { Plan } from '../model/plan.ts';

/** The machine waits for capacity of its offerings, or for the result of another machine's first call. */
interface Waiting {
  readonly waitsFor: { readonly shortage?: Shortage; readonly until?: Date };
}

/** Returns true if the last `create` was refused because of missing capacity. In this case, the machine has no VM. */
export const refusedCapacity = ({ calls: { last } }: Pick<MachineObservation, 'calls'>): boolean =>
  last?.kind === 'create' && !last.outcome.ok && last.outcome.error.code === 'ResourceExhausted';

/**
 * Returns true if the results of all `create` calls for the machine are known. Only then the machine may use another
 * offering, because a call without an answer may have created a VM. If an earlier process wrote a record, that process may
 * have sent a call.
 */
function isFree(o: MachineObservation, record: string | undefined): boolean {
  if (refusedCapacity(o)) return true;
  return !o.calls.createSent && (record === undefined || o.inherited === false);
}

const isShort = ({ shortage }: ObservedOffering, now: Date): boolean =>
  shortage !== undefined && !(shortage.free && now >= shortage.retryAt);

/**
 * Chooses the first offering without a known shortage, and records it on the Machine. mcm writes the record before the
 * call, so every later process repeats the call with the same offering. Returns undefined if the machine may call `create`.
 */
export function planOffering(
  o: MachineObservation,
  offerings: readonly ObservedOffering[],
  now: Date,
): Plan | Waiting | undefined {
  const record = o.machine.metadata.annotations?.[Annotations.CapacityOffering];
  const [first] = offerings;
  if (!isFree(o, record)) {
    // The call was sent before the class got alternatives.
    if (record === undefined && first) return choose(o, first, 'the call was sent for the first choice');
    return waitFor(
      offerings.filter((each) => each.record === record),
      now,
    );
  }
  const best = offerings.find((each) => !isShort(each, now));
  if (!best) return record === undefined ? waitFor(offerings, now) : forget();
  if (best.awaitsFirstCall && now < best.awaitsFirstCall) return { waitsFor: { until: best.awaitsFirstCall } };
  if (best.record === record) return undefined;
  return choose(o, best, 'the first offering with capacity', best === first ? undefined : first);
}

/** Returns a wait until one of the offerings may be tried again. Returns undefined if an offering may be tried now. */
function waitFor(offerings: readonly ObservedOffering[], now: Date): Waiting | undefined {
  const short = offerings.flatMap(({ shortage }) => (shortage ? [shortage] : []));
  if (short.length === 0 || offerings.some((each) => !isShort(each, now))) return undefined;
  const retryAt = new Date(Math.min(...short.map((each) => each.retryAt.getTime())));
  const [newest] = short;
  return newest && { waitsFor: { shortage: { ...newest, retryAt, free: false } } };
}

/** The results of all calls are known, so a later process may choose any offering. */
const forget = (): Plan => ({
  actions: [{ do: 'annotate', annotations: { [Annotations.CapacityOffering]: null } }],
  next: { kind: 'continue' },
  because: 'no offering has capacity',
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
