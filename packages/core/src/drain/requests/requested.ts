import { type Blocker, nameOf } from '../model/blockers.ts';
import type { Attempt, DrainObservation, DrainPod, Responder } from '../model/observation.ts';

/** Delay between the creation of an EvictionRequest and the first read of its Eviction, in milliseconds. */
const FIRST_READ_MS = 10_000;

const READ_EVERY_MS = 20_000;

/**
 * Maximum wait for the Eviction of an EvictionRequest, in milliseconds. If no Eviction exists after this time, no
 * controller handles the EvictionRequest, and mcm evicts the pod.
 */
const UNHANDLED_AFTER_MS = 30_000;

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

/**
 * Returns true if the drain must create an EvictionRequest for the pod. Each pod gets only one EvictionRequest. If the
 * VM ends soon, there is no time for an EvictionRequest. After the drain timeout, the policies Quarantine and Fail
 * prevent new EvictionRequests.
 */
export const isAskedFor = (o: DrainObservation, pod: DrainPod, now: Date): boolean =>
  o.requests === 'served' && !o.urgent && !stopsRequests(o, now) && o.memory.attempts.get(pod.uid) === undefined;

/** Returns true if the drain must withdraw its EvictionRequests, because the policy allows no further evictions. */
export const stopsRequests = (o: DrainObservation, now: Date): boolean => stopsEvictions(o) && now >= o.forceAt;

/** Returns true if the undrainable policy stops evictions after the drain timeout. */
export const stopsEvictions = ({ policy }: DrainObservation): boolean => policy === 'Quarantine' || policy === 'Fail';

/** The wait for the responder of an EvictionRequest. `read` is true if mcm must read the Evictions again. */
interface RequestedWait {
  readonly until: Date;
  readonly read: boolean;
  readonly blocker?: Blocker | undefined;
}

/**
 * Plans a pod with an EvictionRequest that is not terminating yet. Returns undefined if mcm must evict the pod itself.
 * The Eviction of the pod has then failed, or was not created in time.
 */
export function planRequested(
  { memory }: DrainObservation,
  pod: DrainPod,
  { at }: Attempt,
  now: Date,
): RequestedWait | undefined {
  const { responders, respondersAt } = memory;
  const responder = responders?.get(pod.uid);
  if (responder?.failed) return undefined;
  if (!responder && respondersAt && respondersAt >= later(at, UNHANDLED_AFTER_MS)) return undefined;
  const due = respondersAt && respondersAt >= at ? later(respondersAt, READ_EVERY_MS) : later(at, FIRST_READ_MS);
  const read = now >= due;
  return { until: due, read, blocker: responder && responderBlocker(pod, responder) };
}

const responderBlocker = (pod: DrainPod, { name, message }: Responder): Blocker => ({
  text:
    name === undefined
      ? `pod ${nameOf(pod)} waits until the API server selects an eviction responder`
      : `pod ${nameOf(pod)} waits for the eviction responder ${name}`,
  failed: false,
  hint: message ? `the responder reports: ${message}` : 'see the Eviction object of the pod (lifecycle.k8s.io)',
});
