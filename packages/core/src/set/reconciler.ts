import { Finalizers, type Machine, type MachineSet, MachineSetConditions, machineSets } from '@mcm/api';
import {
  again,
  type Controller,
  controllerOf,
  createController,
  done,
  ignoreNotFound,
  isNotFound,
  keyOf,
  makeKey,
  type Outcome,
  type ResourceClient,
  soonest,
} from '@mcm/kube';
import { printViolations, validateSet } from '../deployment/validation.ts';
import type { RepairPlan } from '../disruption/repairs.ts';
import { BY_CONTROLLER, type ControllerContext, controllerParts, isOrphaning } from './caches.ts';
import { claim } from './claim.ts';
import { findCondition, setSetCondition, withoutCondition } from './conditions.ts';
import { PendingDeletions } from './expectations.ts';
import { MachineWriter, mayHaveHappened, type WriteResult } from './machine-writer.ts';
import { isFailed } from './machines.ts';
import { Pace } from './pace.ts';
import { RepairGroups } from './repair-group.ts';
import { planReplicas } from './replicas.ts';
import { compileSelector } from './selector.ts';
import { nextMachineNames } from './slots.ts';
import { Staff } from './staff.ts';
import { countMachines, type ReplicaFailure, setStatus, setStatusDiffers } from './status.ts';
import { Waiters } from './waiters.ts';
import { type SetWaiters, wakeSets, wakeWaiters } from './wakeups.ts';

/** A status that only counts on towards its goal is written at most so often. */
const STATUS_INTERVAL_MS = 1_000;

/** Machines speak again in swarms: a set that they hold back looks at them together. */
const BREAKER_SWARM_MS = 1_000;

const INVALID_SPEC = MachineSetConditions.InvalidSpec;

/** What the controller remembers of a set between passes; all of it is found again after a restart. */
interface Memory {
  readonly uid: string;
  readonly pending: PendingDeletions;
  /** Names that belong to machines of others. */
  readonly taken: Set<string>;
}

/** Keeps every MachineSet at its number of machines (sheet 7.2). */
export class SetReconciler {
  readonly #context: ControllerContext;
  readonly #sets: ResourceClient<MachineSet>;
  readonly #writer: MachineWriter;
  readonly #staff: Staff;
  readonly #memory = new Map<string, Memory>();
  readonly #pace = new Pace(STATUS_INTERVAL_MS);
  readonly #groups: RepairGroups;
  readonly #wake: (key: string, afterMs: number) => void;
  /** Sets that wait for what is not theirs. */
  readonly waiting: SetWaiters = { machines: new Waiters(), classes: new Waiters() };

  /** @param wake Looks at a set again after so many milliseconds. */
  constructor(context: ControllerContext, wake: (key: string, afterMs: number) => void) {
    this.#context = context;
    this.#wake = wake;
    this.#groups = new RepairGroups(
      context,
      (set, { metadata }) => this.#memory.get(keyOf(set))?.pending.has(metadata.uid) === true,
    );
    this.#sets = context.client.resource(machineSets, context.namespace);
    this.#writer = new MachineWriter(context);
    this.#staff = new Staff(context, this.#sets, this.#writer);
  }

  readonly reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    const stored = this.#context.sets.store.get(key);
    if (stored === undefined) {
      this.#memory.delete(key);
      this.#pace.forget(key);
      this.waiting.machines.forget(key);
      this.waiting.classes.forget(key);
      return done;
    }
    const violations = validateSet(stored);
    if (violations.length > 0) return this.#refuse(stored, printViolations(violations), signal);
    if (stored.metadata.deletionTimestamp !== undefined) return this.#delete(key, stored, signal);
    const set = await this.#ensureFinalizer(stored, signal);
    await this.#staff.sync(set, await this.#staff.claim(set, signal), signal);
    const { failure, lookAgain } = await this.#manageReplicas(key, set, signal);
    const outcome = await this.#writeStatus(key, set, failure?.shown, signal);
    if (failure !== undefined) throw failure.error;
    return soonest(outcome, lookAgain);
  };

  #machinesOf(set: MachineSet): readonly Machine[] {
    return this.#context.machines.store.byIndex(BY_CONTROLLER, set.metadata.uid);
  }

  #memoryOf(set: MachineSet): Memory {
    const key = keyOf(set);
    const known = this.#memory.get(key);
    if (known?.uid === set.metadata.uid) return known;
    const fresh: Memory = { uid: set.metadata.uid, pending: new PendingDeletions(), taken: new Set() };
    this.#memory.set(key, fresh);
    return fresh;
  }

  /** Says on the object what is wrong with it, once, and touches nothing. The original says it in its log only. */
  async #refuse(set: MachineSet, problem: string, signal: AbortSignal): Promise<Outcome> {
    const old = set.status?.machineSetCondition ?? [];
    const known = findCondition(old, INVALID_SPEC);
    if (known?.message === problem) return done;
    this.#context.recorder.event(set, 'Warning', INVALID_SPEC, problem);
    const change = { type: INVALID_SPEC, status: 'True', reason: 'ValidationFailed', message: problem } as const;
    const conditions = setSetCondition(withoutCondition(old, INVALID_SPEC), change, this.#context.clock.now());
    await this.#putStatus(set, { ...set.status, machineSetCondition: conditions }, signal);
    return done;
  }

  async #ensureFinalizer(set: MachineSet, signal: AbortSignal): Promise<MachineSet> {
    const { finalizers = [], resourceVersion, uid, name } = set.metadata;
    if (finalizers.includes(Finalizers.MachineControllerManager)) return set;
    const body = {
      metadata: { uid, resourceVersion, finalizers: [...finalizers, Finalizers.MachineControllerManager] },
    };
    const written = await this.#sets.patch(name, { type: 'merge', body }, { signal });
    this.#context.sets.recordWrite(written);
    return written;
  }

  async #manageReplicas(
    key: string,
    set: MachineSet,
    signal: AbortSignal,
  ): Promise<{ failure: Failure | undefined; lookAgain: Outcome }> {
    const { clock, log } = this.#context;
    const { pending, taken } = this.#memoryOf(set);
    const machines = this.#machinesOf(set);
    const deleting = pending.settle(machines);
    const now = clock.now();
    const repairs = machines.some(isFailed) ? this.#groups.repairsOf(set, now) : undefined;
    const room = this.#groups.roomOf(set);
    const lacksClass = this.#lacksClass(set);
    this.waiting.classes.put(key, lacksClass ? set.spec.template.spec.class.name : undefined);
    const plan = planReplicas({
      set,
      machines,
      deleting,
      nodeAnnotations: this.#groups.nodeAnnotations,
      ...(repairs ? { replaceable: new Set(repairs.go) } : {}),
      ...(room === undefined ? {} : { room }),
      lacksClass,
      now,
    });
    const lookAgain = this.#awaitOthers(key, set, repairs, { now, full: room === 0 });
    const doomed = [...new Set([...plan.doomed, ...pending.unanswered(machines)])];
    // Before anything is awaited: the other sets of the deployment count them from now on.
    for (const { metadata } of plan.doomed) pending.note(metadata.uid, 'unanswered');
    if (plan.create > 0) {
      log.info('Creating machines', { set: set.metadata.name, count: plan.create, because: plan.because });
      const names = nextMachineNames(
        set.metadata,
        [...machines.map(({ metadata }) => metadata.name), ...taken],
        plan.create,
      );
      const failure = failureOf('create', await this.#writer.create(set, names, taken, signal));
      if (failure) return { failure, lookAgain };
    }
    if (doomed.length === 0) return { failure: undefined, lookAgain };
    log.info('Deleting machines', { set: set.metadata.name, count: doomed.length, because: plan.because });
    return { failure: failureOf('delete', await this.#writer.delete(set, doomed, pending, signal)), lookAgain };
  }

  /** Whether its machines could not be made because their class is not there. Another kind is somebody else's to know. */
  #lacksClass({ metadata, spec }: MachineSet): boolean {
    const { kind, name = '' } = spec.template.spec.class;
    const { store } = this.#context.safeguards.classes;
    return kind === 'MachineClass' && store.get(makeKey(metadata.namespace, name)) === undefined;
  }

  /** Sees to it that the set is looked at when what it waits for changes: machines of its deployment, a breaker, a time. */
  #awaitOthers(
    key: string,
    set: MachineSet,
    repairs: RepairPlan | undefined,
    { now, full }: { readonly now: Date; readonly full: boolean },
  ): Outcome {
    const mine = ({ metadata }: Machine) => controllerOf({ metadata })?.uid === set.metadata.uid;
    const waits = full || repairs?.waiting.some(mine) === true;
    this.waiting.machines.put(key, waits ? controllerOf(set)?.uid : undefined);
    const held = (repairs?.held ?? []).filter(({ machine }) => isFailed(machine) && mine(machine));
    this.#context.safeguards.onceChanged(
      held.map(({ machine }) => machine),
      `set ${key}`,
      () => this.#wake(key, BREAKER_SWARM_MS),
    );
    const at = waits || held.length > 0 ? repairs?.lookAgainAt : undefined;
    return at === undefined ? done : again(Math.max(at.getTime() - now.getTime(), 1));
  }

  async #delete(key: string, set: MachineSet, signal: AbortSignal): Promise<Outcome> {
    const { uid, finalizers = [] } = set.metadata;
    if (!finalizers.includes(Finalizers.MachineControllerManager) || isOrphaning(set)) return done;
    const { pending } = this.#memoryOf(set);
    const matches = compileSelector(set.spec.selector);
    const { owned } = claim({ uid, deleting: true }, matches, this.#machinesOf(set));
    if (owned.length === 0) {
      await this.#removeFinalizer(set, signal);
      return done;
    }
    const deleting = pending.settle(owned);
    const unanswered = new Set(pending.unanswered(owned));
    const doomed = owned.filter(
      (machine) =>
        machine.metadata.deletionTimestamp === undefined &&
        (!deleting.has(machine.metadata.uid) || unanswered.has(machine)),
    );
    const failure = failureOf('delete', await this.#writer.delete(set, doomed, pending, signal));
    const outcome = await this.#writeStatus(key, set, failure?.shown, signal);
    if (failure !== undefined) throw failure.error;
    return outcome;
  }

  async #removeFinalizer(set: MachineSet, signal: AbortSignal): Promise<void> {
    const { name, uid, resourceVersion, finalizers = [] } = set.metadata;
    const rest = finalizers.filter((finalizer) => finalizer !== Finalizers.MachineControllerManager);
    const body = { metadata: { uid, resourceVersion, finalizers: rest } };
    await ignoreNotFound(this.#sets.patch(name, { type: 'merge', body }, { signal }));
  }

  /** Writes the status if it says something new: at once where the set has arrived or failed, else now and then. */
  async #writeStatus(
    key: string,
    acted: MachineSet,
    failure: ReplicaFailure | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const now = this.#context.clock.now();
    // Written onto the newest object that we know: its resourceVersion moves while machines are being made.
    const newest = this.#context.sets.store.get(key) ?? acted;
    const counts = countMachines(acted, this.#machinesOf(acted));
    const status = setStatus(
      { ...newest, spec: acted.spec, metadata: { ...newest.metadata, generation: acted.metadata.generation ?? 0 } },
      counts,
      failure,
      now,
    );
    const cleared = withoutCondition(status.machineSetCondition ?? [], INVALID_SPEC);
    const problem = this.#lacksClass(acted) ? classNotFound(acted) : undefined;
    const conditions = problem ? setSetCondition(status.machineSetCondition ?? [], problem, now) : cleared;
    const wanted = { ...status, machineSetCondition: conditions };
    if (!setStatusDiffers(newest.status, wanted)) return done;
    if (problem && !findCondition(newest.status?.machineSetCondition ?? [], INVALID_SPEC)) {
      this.#context.recorder.event(acted, 'Warning', problem.type, problem.message);
    }
    // A set on its own says at once that it has arrived; one of a deployment is asked by nobody meanwhile.
    const wanting = acted.spec.replicas ?? 0;
    const arrived = counts.available === wanting && counts.replicas === wanting && controllerOf(newest) === undefined;
    const waitMs = arrived || failure !== undefined || problem !== undefined ? 0 : this.#pace.waitMs(key, now);
    if (waitMs > 0) return again(waitMs);
    await this.#putStatus(newest, wanted, signal);
    this.#pace.wrote(key, now);
    return done;
  }

  async #putStatus(set: MachineSet, status: NonNullable<MachineSet['status']>, signal: AbortSignal): Promise<void> {
    try {
      const written = await this.#sets.update({ ...set, status }, { subresource: 'status', signal });
      this.#context.sets.recordWrite(written);
    } catch (error) {
      // The last machine and the set's own finalizer may go while the status is on its way.
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Said of a set whose machines cannot be made; its deployment says the same of itself. */
const classNotFound = ({ metadata, spec }: MachineSet) =>
  ({
    type: INVALID_SPEC,
    status: 'True',
    reason: 'ClassNotFound',
    message: `spec.template.spec.class.name: there is no MachineClass "${spec.template.spec.class.name}" in namespace "${metadata.namespace ?? ''}". No machine is made or replaced until there is.`,
  }) as const;

/** A write that failed, and what the status says of it. */
interface Failure {
  readonly shown: ReplicaFailure | undefined;
  readonly error: unknown;
}

function failureOf(during: ReplicaFailure['during'], { error }: WriteResult): Failure | undefined {
  if (error === undefined) return undefined;
  // A request without an answer may have succeeded: it is repeated, and nobody is told of a failure (sheet 7.6).
  if (mayHaveHappened(error)) return { shown: undefined, error };
  return { shown: { during, message: error instanceof Error ? error.message : String(error) }, error };
}

/** The controller of MachineSets over the context's caches. */
export function createSetController(context: ControllerContext, options: { readonly concurrency: number }): Controller {
  const reconciler = new SetReconciler(context, (key, afterMs) => controller.enqueue(key, afterMs));
  const controller: Controller = createController({
    name: 'machineset',
    concurrency: options.concurrency,
    reconcile: reconciler.reconcile,
    ...controllerParts(context),
  });
  wakeSets(controller, context);
  wakeWaiters(controller, context, reconciler.waiting);
  return controller;
}

/** Condition types that the set controller writes. */
export const SET_CONDITIONS = [MachineSetConditions.ReplicaFailure, INVALID_SPEC] as const;
