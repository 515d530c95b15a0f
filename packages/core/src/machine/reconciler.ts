import { isForceDeletion, type Machine } from '@mcm/api';
import { again, type Clock, done, errorText, isConflict, type Key, type Logger, type Outcome } from '@mcm/kube';
import { replacementGroup } from '../disruption/replacements.ts';
import type { DrainObservation } from '../drain/model/observation.ts';
import { addVolumes, volumesMoving } from '../drain/volumes/volume-pace.ts';
import { busyDriversOf } from '../drain/volumes/volumes.ts';
import { type Journal, type OpenEntry, subjectOf } from '../journal/journal.ts';
import type { Performer } from './calls/perform.ts';
import { Reservations } from './health/reservations.ts';
import { awaitsBreaker } from './model/breaker.ts';
import type { MachineMemories, MachineMemory } from './model/memory.ts';
import type { MachineObservation } from './model/observation.ts';
import type { Action, Plan } from './model/plan.ts';
import { withOperation } from './model/status.ts';
import { nextStep } from './next-step.ts';
import { drainsNode, type ObserveOptions, observe } from './observe.ts';

export interface MachineReconcilerOptions extends Omit<ObserveOptions, 'reserved'> {
  readonly memories: MachineMemories;
  readonly performer: Performer;
  readonly clock: Clock;
  readonly log: Logger;
  readonly journal?: Journal | undefined;
  readonly traceIdOf?: ((uid: string) => string) | undefined;
  readonly traceDrain?: ((machine: Machine, drain: DrainObservation | undefined) => void) | undefined;
  readonly waitFor: (key: Key, budgets: readonly string[], volumes: readonly string[]) => void;
  readonly wake: (key: Key, afterMs: number) => void;
}

/** mcm delays a reconcile by this time, because many machines can become unreachable together. */
const BREAKER_SWARM_MS = 5_000;

/** The maximum number of steps in one reconcile, so that one machine does not block a worker. */
const MAX_ROUNDS = 12;

/** A machine with the label `force-deletion` waits at most this long for the list of its pods. */
const FORCED_WAIT_MS = 10_000;

const nameOf = (action: Action): string => {
  if (action.do !== 'call') return action.do;
  return action.call === 'status' ? 'look for VM' : `${action.call} VM`;
};

/** Reconciles machines. A reconcile ends instead of waiting, and returns the time of the next reconcile. */
export class MachineReconciler {
  readonly #options: MachineReconcilerOptions;
  readonly #observeOptions: ObserveOptions;
  readonly #reservations = new Reservations();

  constructor(options: MachineReconcilerOptions) {
    this.#options = options;
    this.#observeOptions = {
      ...options,
      reserved: (group, uid) => this.#reservations.others(group, uid),
    };
  }

  readonly reconcile = async (key: Key, signal: AbortSignal): Promise<Outcome> => {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      signal.throwIfAborted();
      const machine = this.#options.caches.machines.store.get(key);
      if (!machine) return done;
      const outcome = await this.#round(key, machine, signal);
      if (outcome) return outcome;
    }
    return again(0);
  };

  async #round(key: Key, machine: Machine, signal: AbortSignal): Promise<Outcome | undefined> {
    const { clock, memories, log, waitFor } = this.#options;
    const now = clock.now();
    const memory = memories.of(machine.metadata.uid);
    if (memory.finishedVersion === machine.metadata.resourceVersion) return done;
    const opening = this.#opensCaches(key, machine, memory);
    if (opening) return opening;
    const o = observe(machine, memory, this.#observeOptions, now);
    this.#options.traceDrain?.(machine, o.drain);
    const plan = nextStep(o, now);
    const entry = this.#options.journal?.record({
      kind: 'machine',
      subject: subjectOf('Machine', machine),
      at: now,
      input: o,
      decision: plan,
      because: plan.because,
      actions: plan.actions.map(nameOf),
    });
    if (plan.actions.length > 0) {
      const trace_id = this.#options.traceIdOf?.(machine.metadata.uid);
      const fields = { machine: key, actions: plan.actions.map(nameOf), because: plan.because, trace_id };
      // mcm logs a repeated decision with the level `debug`, because the decision is a retry or an update of the Node.
      if (memory.decided === plan.because) log.debug('Machine step', fields);
      else log.info('Machine step', fields);
      memory.decided = plan.because;
    }
    waitFor(key, plan.budgets ?? [], o.drain ? travelling(o.drain) : []);
    this.#sharePace(key, o, plan, now);
    if (awaitsBreaker(o, now)) {
      this.#options.caches.census.onceChanged(machine, `machine ${key}`, () =>
        this.#options.wake(key, BREAKER_SWARM_MS),
      );
    }
    if (plan.awaitsCapacity) this.#options.capacity.waits(machine, o.inputs);
    if (plan.intends !== undefined) this.#options.capacity.intends(machine, plan.intends);
    const group = marksFailed(machine, plan) ? replacementGroup(machine) : undefined;
    if (group) this.#reservations.reserve(group, machine.metadata.uid);
    try {
      await this.#carryOut(plan.actions, { o, memory, now, signal }, entry);
    } finally {
      if (group) this.#reservations.release(group, machine.metadata.uid);
    }
    if (plan.actions.some((action) => action.do === 'removeFinalizer')) return done;
    if (plan.next.kind === 'continue') return undefined;
    if (plan.next.kind === 'wait') return done;
    return again(Math.max(plan.next.instant.getTime() - clock.now().getTime(), 0) + 1);
  }

  /** Records the volumes that the plan moves, because all machines share the limits of moving volumes. */
  #sharePace(key: Key, { machine, drain }: MachineObservation, plan: Plan, now: Date): void {
    const { pace } = this.#options;
    if (pace === undefined) return;
    pace.waits(key, drain ? busyDriversOf(drain, now) : []);
    if (drain === undefined) return;
    const evicted = new Set(
      plan.actions.flatMap((action) => (action.do === 'evict' ? action.pods : [])).map(({ uid }) => uid),
    );
    if (evicted.size === 0) return;
    const moving = new Map(volumesMoving(drain, now));
    for (const pod of drain.pods) if (evicted.has(pod.uid)) addVolumes(moving, drain, pod.volumes);
    pace.moves(machine.metadata.uid, moving);
  }

  /**
   * Opens the caches for a drain. Without the list of pods, a drain would treat the Node as empty, so the machine waits
   * for the caches.
   */
  #opensCaches(key: Key, machine: Machine, memory: MachineMemory): Outcome | undefined {
    const { caches, wake } = this.#options;
    const { drains } = caches;
    if (!drains) return undefined;
    const { uid } = machine.metadata;
    if (!drainsNode(machine, memory, caches)) {
      drains.release(uid);
      return undefined;
    }
    if (drains.want(uid, () => wake(key, 0))) return undefined;
    if (!isForceDeletion(machine)) return done;
    const leftMs = FORCED_WAIT_MS - drains.waitedMs(uid);
    return leftMs > 0 ? again(leftMs) : undefined;
  }

  async #carryOut(
    actions: readonly Action[],
    scope: Parameters<Performer['perform']>[1],
    entry: OpenEntry | undefined,
  ): Promise<void> {
    try {
      for (const action of actions) await this.#perform(action, scope);
      entry?.ended();
    } catch (error) {
      entry?.ended(errorText(error));
      throw error;
    }
  }

  /**
   * Performs an action. mcm writes the errors of a drain or of a write to a Node to the status, with the texts of the
   * original.
   */
  async #perform(action: Action, scope: Parameters<Performer['perform']>[1]): Promise<void> {
    const { performer } = this.#options;
    try {
      await performer.perform(action, scope);
    } catch (error) {
      const description =
        scope.signal.aborted || isConflict(error)
          ? undefined
          : describeFailure(action, scope.o.node?.metadata.name, error);
      const old = scope.o.machine.status?.lastOperation?.description;
      if (description && description !== old) {
        const operation = { description, state: 'Failed', type: 'Delete' } as const;
        const status = withOperation(scope.o.machine.status, operation, scope.now);
        const event = { type: 'Warning', reason: 'DeletionBlocked', message: description } as const;
        await performer.perform({ do: 'writeStatus', status, event }, scope);
      }
      throw error;
    }
  }
}

const travelling = ({ memory, attachedElsewhere }: DrainObservation): readonly string[] =>
  [...memory.moves.values()]
    .flatMap(({ volumes, returns }) => (returns ? volumes : []))
    .filter((volume) => !attachedElsewhere.has(volume));

const marksFailed = ({ status }: Machine, plan: Plan): boolean =>
  status?.currentStatus?.phase !== 'Failed' &&
  plan.actions.some((action) => action.do === 'writeStatus' && action.status.currentStatus?.phase === 'Failed');

function describeFailure(action: Action, node: string | undefined, error: unknown): string | undefined {
  if (action.do === 'cordon') {
    return `Drain failed due to failure in update of node conditions - ${errorText(error)}. Will retry in next sync. Initiate node drain`;
  }
  if (action.do === 'releaseNode') {
    return `Deletion of Node Object "${node ?? ''}" failed due to error: ${errorText(error)}. Initiate node object deletion`;
  }
  return undefined;
}
