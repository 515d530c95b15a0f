import { type Machine, machines } from '@mcm/api';
import {
  again,
  type Clock,
  errorText,
  isNotFound,
  type Key,
  type KubeClient,
  KubeError,
  keyOf,
  type Logger,
  nodes,
  type Outcome,
} from '@mcm/kube';
import type { Caches } from '../machine/caches.ts';
import { afterOutage } from '../machine/health.ts';
import { mergeDiff } from '../machine/merge-diff.ts';

/** Times of the check, in milliseconds. */
export interface ReachabilityTimings {
  /** Between two checks: `--machine-safety-apiserver-statuscheck-period`. */
  readonly periodMs: number;
  /** Out of reach for longer than this: frozen. `--machine-safety-apiserver-statuscheck-timeout`. */
  readonly timeoutMs: number;
}

/** How often, and with how much patience, an API server is asked whether it is there. */
export const REACHABILITY_DEFAULTS: ReachabilityTimings = { periodMs: 60_000, timeoutMs: 30_000 };

/** What is remembered between checks. */
export interface Reachability {
  readonly frozen: boolean;
  /** First failed check since the servers were last reached, by the monotonic clock. */
  readonly downSince?: Date;
}

/** A verdict after a check. `thaw`: both servers are back after a freeze. */
export interface ReachabilityStep {
  readonly state: Reachability;
  readonly thaw: boolean;
  readonly nextCheckMs: number;
}

/**
 * Frozen when an API server was out of reach for longer than the timeout: nodes then look dead that are not, and
 * judging them would replace a healthy fleet. Every reached check resets the time (in the original one failed check
 * long after the last froze at once). Source: machine_safety.go, reconcileClusterMachineSafetyAPIServer.
 */
export function stepReachability(
  state: Reachability,
  up: boolean,
  now: Date,
  timings: ReachabilityTimings,
): ReachabilityStep {
  if (up) return { state: { frozen: false }, thaw: state.frozen, nextCheckMs: timings.periodMs };
  if (state.frozen) return { state, thaw: false, nextCheckMs: timings.periodMs };
  const downSince = state.downSince ?? now;
  const frozen = now.getTime() - downSince.getTime() > timings.timeoutMs;
  return {
    state: { frozen, downSince },
    thaw: false,
    nextCheckMs: frozen ? timings.periodMs : timings.timeoutMs / 5,
  };
}

export interface ReachabilityOptions {
  readonly caches: Caches;
  readonly control: KubeClient;
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timings: ReachabilityTimings;
  /** Wakes a machine. */
  readonly wake: (key: Key) => void;
}

/** A server that was heard of so recently need not be asked: watches get a bookmark about once a minute. */
const HEARD_RECENTLY_MS = 90_000;
const PROBE_TIMEOUT_MS = 10_000;
const PROBE_NAME = 'dummy-name';

/** The periodic check as a reconcile of one key. */
export function createReachability(options: ReachabilityOptions): {
  readonly key: Key;
  readonly firstAfterMs: number;
  readonly frozen: () => boolean;
  readonly reconcile: () => Promise<Outcome>;
} {
  const { caches, clock, log, timings } = options;
  let state: Reachability = { frozen: false };
  const reconcile = async (): Promise<Outcome> => {
    const outOfReach = await silentServers(options);
    const step = stepReachability(state, outOfReach.length === 0, new Date(clock.monotonic()), timings);
    if (step.thaw) {
      // Still frozen while it is put right: whatever fails is done again, and nothing is judged in between.
      await thaw(options);
      log.info('API servers are back: judging machines again');
    } else if (step.state.frozen && !state.frozen) {
      log.error('API servers are out of reach: machines are not judged until they are back', {
        outOfReach,
        sinceMs: clock.monotonic() - (step.state.downSince?.getTime() ?? 0),
      });
    }
    state = step.state;
    if (step.thaw) for (const key of caches.machines.store.list().map(keyOf)) options.wake(key);
    return again(step.nextCheckMs);
  };
  return { key: 'api-servers', firstAfterMs: timings.periodMs, frozen: () => state.frozen, reconcile };
}

/** Which cluster does not answer, and what came instead. */
async function silentServers(options: ReachabilityOptions): Promise<readonly string[]> {
  const { caches, control, target, namespace } = options;
  const heard = (silentMs: number): boolean => silentMs < HEARD_RECENTLY_MS;
  const asked: Promise<string | undefined>[] = [];
  if (!heard(caches.machines.silentForMs()))
    asked.push(failure('control', options, control.resource(machines, namespace)));
  if (target && caches.target && !heard(caches.target.nodes.silentForMs()))
    asked.push(failure('target', options, target.resource(nodes)));
  return (await Promise.all(asked)).filter((each) => each !== undefined);
}

/** Undefined for a server that is there: it answers that it has no object of that name. */
async function failure(
  cluster: 'control' | 'target',
  { clock, log }: ReachabilityOptions,
  reader: { get(name: string, options: { signal: AbortSignal }): Promise<unknown> },
): Promise<string | undefined> {
  const limit = new AbortController();
  const timer = clock.setTimeout(() => limit.abort(new Error('no answer')), PROBE_TIMEOUT_MS);
  try {
    await reader.get(PROBE_NAME, { signal: limit.signal });
    return undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    const text = errorText(error);
    log.debug('API server does not answer', {
      cluster,
      error: text,
      code: error instanceof KubeError ? error.code : 0,
    });
    return `${cluster}: ${text}`;
  } finally {
    timer.cancel();
  }
}

/** The time of the outage is not held against machines that went Unknown in it. */
async function thaw({ caches, control, clock }: ReachabilityOptions): Promise<void> {
  const unknown = caches.machines.store
    .list()
    .filter(({ metadata, status }) => status?.currentStatus?.phase === 'Unknown' && !metadata.deletionTimestamp);
  for (const machine of unknown) {
    const answer = await resetHealth(control, machine, clock.now());
    if (answer) caches.machines.recordWrite(answer);
  }
}

async function resetHealth(control: KubeClient, machine: Machine, now: Date): Promise<Machine | undefined> {
  const status = mergeDiff(machine.status, afterOutage(machine, now));
  if (!status) return undefined;
  const { name, namespace, uid, resourceVersion } = machine.metadata;
  const body = { metadata: { uid, resourceVersion }, status };
  return control.resource(machines, namespace).patch(name, { type: 'merge', body }, { subresource: 'status' });
}
