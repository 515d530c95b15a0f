import { type Blocker, nameOf } from '../model/blockers.ts';
import type { Attempt, DrainObservation, DrainPod, Responder } from '../model/observation.ts';

/** Delay before the first read of the Eviction for a requested pod. */
const FIRST_READ_MS = 10_000;

const READ_EVERY_MS = 20_000;

/**
 * If no Eviction exists for a request after this time, no controller handles the request, and the drain evicts the pod.
 */
const UNHANDLED_AFTER_MS = 30_000;

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

/**
 * Returns true if the drain creates an EvictionRequest for the pod. Each pod gets only one request. If the cloud will
 * end the VM soon, there is no time for a request. After the timeout, the policies Quarantine and Fail stop all requests.
 */
export const isAskedFor = (o: DrainObservation, pod: DrainPod, now: Date): boolean =>
  o.requests === 'served' && !o.urgent && !stopsRequests(o, now) && o.memory.attempts.get(pod.uid) === undefined;

/** The requests of a drain are withdrawn when no pod may be evicted anymore. */
export const stopsRequests = (o: DrainObservation, now: Date): boolean => stopsEvictions(o) && now >= o.forceAt;

/** Returns true if the policy of the drain stops evictions after the timeout. */
export const stopsEvictions = ({ policy }: DrainObservation): boolean => policy === 'Quarantine' || policy === 'Fail';

/** `read` is set if the plan must read the Evictions again. */
interface RequestedWait {
  readonly until: Date;
  readonly read: boolean;
  readonly blocker?: Blocker | undefined;
}

/**
 * Plans a pod with an EvictionRequest that is not terminating yet. `planRequested` returns undefined if the drain must
 * evict the pod itself, because its Eviction has failed or was not created in time.
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
