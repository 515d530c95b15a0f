import {
  Finalizers,
  freezeProblem,
  Labels,
  type Machine,
  type MachineSet,
  MachineSetConditions,
  machineSets,
  phaseOf,
  presenceProblem,
} from '@mcm/api';
import {
  again,
  type Controller,
  controllerOf,
  createController,
  done,
  errorText,
  ignoreNotFound,
  keyOf,
  type Outcome,
  type ResourceClient,
  soonest,
} from '@mcm/kube';
import type { Blocking } from '../blocked/blocks.ts';
import { breakerBlock, budgetBlock } from '../blocked/causes.ts';
import {
  BY_CONTROLLER,
  BY_MACHINE,
  type ControllerContext,
  controllerParts,
  deploymentOf,
  isOrphaning,
} from '../control/caches.ts';
import { PendingDeletions } from '../control/expectations.ts';
import type { HeldMachine, RepairPlan } from '../disruption/repairs.ts';
import { mayHaveHappened } from '../flow/answers.ts';
import { Waiters } from '../flow/waiters.ts';
import { claim } from '../objects/claim.ts';
import { findCondition } from '../objects/conditions.ts';
import { nextMachineNames } from '../objects/machine-names.ts';
import { isFailed, type LostState } from '../objects/machines.ts';
import { scalerRequest } from '../objects/scaler.ts';
import { matcherOf } from '../objects/selector.ts';
import { printViolations, validateSet } from '../objects/violations.ts';
import { CLASS_LOOK_MS, ClassLookup } from './class-lookup.ts';
import { DeletionCauses, deletionCauses } from './replicas/deletion-cause.ts';
import { LostReplicas } from './replicas/lost-replicas.ts';
import { MachineAdoption } from './replicas/machine-adoption.ts';
import { MachineWriter, type WriteResult } from './replicas/machine-writer.ts';
import { type NumberMemory, NumberRecord } from './replicas/number-record.ts';
import { spareMachines } from './replicas/outdated-size.ts';
import { decideReplicas } from './replicas/recorded-replicas.ts';
import { RepairGroups } from './replicas/repair-group.ts';
import { survivors } from './replicas/replicas.ts';
import { WarmPool } from './replicas/warm-pool.ts';
import { ZonePlaces } from './replicas/zone-places.ts';
import type { ReplicaFailure } from './status.ts';
import { SetStatusWriter } from './status-writer.ts';
import { type SetWaiters, setOf, wakeSets, wakeWaiters } from './wakeups.ts';

/** mcm delays a reconcile by this time, because many machines can become reachable together. */
const BREAKER_SWARM_MS = 1_000;

/**
 * Before a deletion, mcm needs a proof that the API server was not restored. mcm searches for the proof at this
 * interval.
 */
const PROOF_MS = 500;

const BEHIND_MS = 100;

const INVALID_SPEC = MachineSetConditions.InvalidSpec;
const MOST_NAMED = 20;

/** The data about a set that mcm stores only in memory. After a restart, mcm computes the data again. */
interface Memory {
  readonly uid: string;
  readonly pending: PendingDeletions;
  readonly taken: Set<string>;
  readonly numbers: NumberMemory;
  readonly lost: LostReplicas;
  warned: string;
}

/**
 * Creates and deletes machines so that every MachineSet has its replicas (docs/compatibility/rules-deployments.md
 * §7.2).
 */
export class SetReconciler {
  readonly #context: ControllerContext;
  readonly #sets: ResourceClient<MachineSet>;
  readonly #writer: MachineWriter;
  readonly #numbers: NumberRecord;
  readonly #adoption: MachineAdoption;
  readonly #warm: WarmPool;
  readonly #zones: ZonePlaces;
  readonly #memory = new Map<string, Memory>();
  readonly #status: SetStatusWriter;
  readonly #classes: ClassLookup;
  readonly #groups: RepairGroups;
  readonly #wake: (key: string, afterMs: number) => void;
  readonly waiting: SetWaiters = { machines: new Waiters(), classes: new Waiters() };

  constructor(context: ControllerContext, wake: (key: string, afterMs: number) => void) {
    this.#context = context;
    this.#wake = wake;
    this.#groups = new RepairGroups(context, {
      lost: (set, alive) => (this.#known(set)?.lost ?? new LostReplicas()).count(set, alive),
    });
    this.#sets = context.client.resource(machineSets, context.namespace);
    this.#writer = new MachineWriter(context);
    this.#numbers = new NumberRecord(context);
    this.#warm = new WarmPool(context);
    this.#zones = new ZonePlaces(context);
    this.#status = new SetStatusWriter(context, this.#sets);
    this.#classes = new ClassLookup(context);
    this.#adoption = new MachineAdoption(context, this.#sets, this.#writer);
    context.machines.onChange(({ object }) => this.#isSeen(object));
    context.machines.onDoubt(() => {
      if (!context.machines.doubted) this.#startOver();
    });
  }

  /** A machine in the cache proves that its creation succeeded, even if the response was lost. */
  #isSeen(machine: Machine): void {
    const set = setOf(machine, this.#context);
    const numbers = set && this.#known(set)?.numbers;
    if (numbers?.unanswered.has(machine.metadata.name)) numbers.exists(machine.metadata.name);
  }

  /** After a restore of the API server, recent writes may be lost, and deleted machines may exist again. */
  #startOver(): void {
    for (const { pending } of this.#memory.values()) pending.clear();
    this.#memory.clear();
    for (const set of this.#context.sets.store.list()) this.#wake(keyOf(set), 0);
  }

  readonly reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    const stored = this.#context.sets.store.get(key);
    if (stored === undefined) {
      this.#memory.get(key)?.pending.clear();
      this.#context.disruptions.settled(this.#memory.get(key)?.uid ?? '');
      this.#memory.delete(key);
      this.#status.forget(key);
      this.waiting.machines.forget(key);
      this.waiting.classes.forget(key);
      return done;
    }
    if (stored.metadata.deletionTimestamp !== undefined) return this.#delete(key, stored, signal);
    const violations = validateSet(stored);
    if (violations.length > 0) return this.#status.refuse(stored, printViolations(violations), signal);
    const set = await this.#ensureFinalizer(stored, signal);
    this.#warn(set);
    await this.#adoption.sync(set, await this.#adoption.claim(set, signal), signal);
    if (await this.#isClassNew(key, set, signal)) return again(CLASS_LOOK_MS);
    const { numbers, lost } = this.#memoryOf(set);
    if (!(await this.#numbers.write(set, numbers, lost.record, signal))) return again(BEHIND_MS);
    const { failure, lookAgain, held, blocking } = await this.#manageReplicas(key, set, signal);
    const outcome = await this.#writeStatus(key, set, { failure: failure?.shown, held, blocking }, signal);
    if (failure !== undefined) throw failure.error;
    return soonest(outcome, lookAgain);
  };

  /** Returns true if the caches are at least as new as the API server, so no restore has reset the API server. */
  #isProven(): boolean {
    const { deployments, sets, machines } = this.#context;
    return [deployments, sets, machines].every(({ proven }) => proven);
  }

  /** Logs a warning about labels and conditions that stop a set. Each process logs the warning once. */
  #warn(set: MachineSet): void {
    const memory = this.#memoryOf(set);
    const problems = [freezeProblem(set), presenceProblem(set, Labels.ScaleUpDisabled)];
    const problem = problems.filter((each) => each !== undefined).join('. ');
    if (problem === memory.warned) return;
    memory.warned = problem;
    if (problem) this.#context.recorder.event(set, 'Warning', 'InputIgnored', problem, { once: true });
  }

  #machinesOf(set: MachineSet): readonly Machine[] {
    return this.#context.machines.store.byIndex(BY_CONTROLLER, set.metadata.uid);
  }

  #known(set: MachineSet): Memory | undefined {
    const known = this.#memory.get(keyOf(set));
    return known?.uid === set.metadata.uid ? known : undefined;
  }

  #memoryOf(set: MachineSet): Memory {
    const key = keyOf(set);
    const known = this.#known(set);
    if (known) return known;
    this.#memory.get(key)?.pending.clear();
    const fresh: Memory = {
      uid: set.metadata.uid,
      pending: new PendingDeletions(this.#context.disruptions.leaving),
      taken: new Set(),
      numbers: this.#numbers.memoryOf(set),
      lost: new LostReplicas(),
      warned: '',
    };
    this.#memory.set(key, fresh);
    return fresh;
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

  async #manageReplicas(key: string, set: MachineSet, signal: AbortSignal): Promise<ReplicaResult> {
    const { clock, log } = this.#context;
    const { pending, lost } = this.#memoryOf(set);
    const machines = this.#machinesOf(set);
    const deleting = pending.settle(machines);
    const alive = survivors({ machines, deleting });
    const replace = lost.look(set, alive);
    const now = clock.now();
    const deployment = deploymentOf(set, this.#context);
    const alone = deployment === undefined;
    const unhealthy = machines.some((machine) => isFailed(machine) || (alone && phaseOf(machine) === 'Unknown'));
    const repairs = unhealthy ? this.#groups.repairsOf(set, now) : undefined;
    const held = alone ? (repairs?.held ?? []) : [];
    const reported = { held, blocking: blockingOf(set, repairs) };
    const room = this.#roomOf(set, alive.length);
    const lacksClass = this.#classes.lacks(set.spec.template.spec.class);
    this.waiting.classes.put(key, lacksClass ? set.spec.template.spec.class.name : undefined);
    const isPostponed = (machine: Machine) => this.#groups.isPostponed(machine, now);
    const { plan, entry } = decideReplicas(this.#context.journal, {
      set,
      machines,
      deleting,
      nodeAnnotations: this.#groups.nodeAnnotations,
      isPostponed,
      zoneRanks: this.#zones.ranks(set, alive, now, isPostponed),
      spare: alive.length > (set.spec.replicas ?? 0) ? spareMachines(set, this.#context) : undefined,
      replaceable: repairs ? new Set(repairs.go) : undefined,
      room,
      lacksClass,
      scaler: deployment ? scalerRequest(set, deployment) : undefined,
      now,
    });
    const lookAgain = this.#awaitOthers(key, set, repairs, {
      now,
      alone,
      full: room === 0 || plan.waiting !== undefined,
    });
    const toDelete = [...new Set([...plan.toDelete, ...pending.unanswered(machines)])];
    // After a restore of the API server, the set may have other machines, so mcm waits for a proof that no restore has
    // happened.
    if (toDelete.length + plan.create > 0 && !this.#isProven()) {
      entry?.ended(
        'mcm creates and deletes no machine now, because the API server may have returned to an older state',
      );
      return { failure: undefined, lookAgain: again(PROOF_MS), ...reported };
    }
    for (const machine of plan.toDelete) pending.begin(machine);
    if (plan.create > 0) {
      log.info('Creating machines', { set: set.metadata.name, count: plan.create, because: plan.because });
      const { failure, lookAgain: retry } = await this.#create(set, plan.create, replace, signal);
      entry?.ended(problemOf(failure));
      if (failure || retry) return { failure, lookAgain: retry ?? lookAgain, ...reported };
    }
    if (toDelete.length === 0) return { failure: undefined, lookAgain, ...reported };
    const causes = this.#causesOf(set, toDelete, alive.length);
    log.info('Deleting machines', {
      set: set.metadata.name,
      count: toDelete.length,
      because: plan.because,
      causes: [...new Set(causes.values())],
      machines: toDelete.slice(0, MOST_NAMED).map(({ metadata }) => metadata.name),
    });
    const result = await this.#writer.delete(set, toDelete, { pending, causes }, signal);
    const failure = failureOf('delete', result);
    entry?.ended(problemOf(failure));
    return { failure, lookAgain: result.changed ? again(1) : lookAgain, ...reported };
  }

  async #create(
    set: MachineSet,
    count: number,
    replace: readonly LostState[],
    signal: AbortSignal,
  ): Promise<{ readonly failure?: Failure | undefined; readonly lookAgain?: Outcome | undefined }> {
    const { taken, numbers, lost } = this.#memoryOf(set);
    const usable = this.#warm.usable(set).slice(0, count);
    const warm =
      usable.length > 0 ? await this.#warm.take(set, usable, { lost, replace }, signal) : { count: 0, changed: false };
    if (warm.changed) return { lookAgain: again(BEHIND_MS) };
    if (warm.count === count) return {};
    if (!(await this.#numbers.catchUp(set, numbers, signal))) return { lookAgain: again(BEHIND_MS) };
    const known = new Set(this.#machinesOf(set).map(({ metadata }) => metadata.name));
    const used = (name: string) =>
      known.has(name) || taken.has(name) || numbers.existed.has(name) || this.#isNodeHeld(name);
    const newest = this.#context.sets.store.get(keyOf(set)) ?? set;
    const names = nextMachineNames(newest, numbers.unanswered, count - warm.count, used);
    const result = await this.#writer.create(
      set,
      names,
      {
        taken,
        lost,
        replace: replace.slice(warm.count),
        numbers,
        places: this.#zones.places(set, names.length, lost.homes),
      },
      signal,
    );
    const recorded = await this.#numbers.write(set, numbers, lost.record, signal);
    return { failure: failureOf('create', result), lookAgain: recorded ? undefined : again(BEHIND_MS) };
  }

  #causesOf(set: MachineSet, toDelete: readonly Machine[], alive: number): ReturnType<typeof deletionCauses> {
    const deployment = deploymentOf(set, this.#context);
    const { store } = this.#context.sets;
    const siblings = deployment ? store.byIndex(BY_CONTROLLER, deployment.metadata.uid) : [];
    const named = deployment ? scalerRequest(set, deployment).named : new Map<string, undefined>();
    return deletionCauses(toDelete, { set, deployment, siblings, named, alive });
  }

  /**
   * Returns true if a cordoned Node has the name. This Node may belong to a VM that is being drained, so no new machine
   * may have the name.
   */
  #isNodeHeld(name: string): boolean {
    const { nodes } = this.#context;
    const store = nodes?.informer.store;
    const named = store?.get(name);
    return [...(named ? [named] : []), ...(store?.byIndex(BY_MACHINE, name) ?? [])].some(
      ({ spec }) => spec.unschedulable === true,
    );
  }

  /**
   * Returns the number of machines that the set may create. Replicas that the deployment is about to remove do not
   * count as missing.
   */
  #roomOf(set: MachineSet, alive: number): number | undefined {
    const room = this.#groups.roomOf(set);
    const { disruptions } = this.#context;
    if (!disruptions.isShrinking(set)) return room;
    return Math.min(room ?? Number.POSITIVE_INFINITY, Math.max(disruptions.replicasOf(set) - alive, 0));
  }

  /** The cache may lack a new class, so mcm reads the class from the API server. */
  async #isClassNew(key: string, { spec, status }: MachineSet, signal: AbortSignal): Promise<boolean> {
    const template = spec.template.spec.class;
    if (!this.#classes.lacks(template) || findCondition(status?.machineSetCondition ?? [], INVALID_SPEC)) return false;
    this.waiting.classes.put(key, template.name);
    return this.#classes.isThere(template.name ?? '', signal);
  }

  #writeStatus(
    key: string,
    set: MachineSet,
    reported: Pick<ReplicaResult, 'held' | 'blocking'> & { readonly failure: ReplicaFailure | undefined },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const lacksClass = this.#classes.lacks(set.spec.template.spec.class);
    return this.#status.write(key, set, this.#machinesOf(set), { ...reported, lacksClass }, signal);
  }

  #awaitOthers(
    key: string,
    set: MachineSet,
    repairs: RepairPlan | undefined,
    { now, alone, full }: { readonly now: Date; readonly alone: boolean; readonly full: boolean },
  ): Outcome {
    const mine = ({ metadata }: Machine) => controllerOf({ metadata })?.uid === set.metadata.uid;
    // During an automatic pause, failed machines stay until the user resumes the rollout.
    const waits = full || [...(repairs?.waiting ?? []), ...(repairs?.kept ?? [])].some(mine);
    this.waiting.machines.put(key, waits ? controllerOf(set)?.uid : undefined);
    const held = (repairs?.held ?? []).filter(({ machine }) => (alone || isFailed(machine)) && mine(machine));
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
    // The garbage collector deletes the machines of a deleted set, even if its selector is invalid.
    const matches = matcherOf(set.spec.selector, true);
    const { owned } = claim({ uid, deleting: true }, matches, this.#machinesOf(set));
    if (owned.length === 0) {
      await this.#removeFinalizer(set, signal);
      return done;
    }
    const deleting = pending.settle(owned);
    const unanswered = new Set(pending.unanswered(owned));
    if (!this.#isProven()) return again(PROOF_MS);
    const toDelete = owned.filter(
      (machine) =>
        machine.metadata.deletionTimestamp === undefined &&
        (!deleting.has(machine.metadata.uid) || unanswered.has(machine)),
    );
    const causes = new Map(toDelete.map(({ metadata }) => [metadata.name, DeletionCauses.OwnerDeleted]));
    const result = await this.#writer.delete(set, toDelete, { pending, causes }, signal);
    const failure = failureOf('delete', result);
    const outcome = await this.#writeStatus(key, set, { failure: failure?.shown, held: [], blocking: [] }, signal);
    if (failure !== undefined) throw failure.error;
    return result.changed ? again(1) : outcome;
  }

  async #removeFinalizer(set: MachineSet, signal: AbortSignal): Promise<void> {
    const { name, uid, resourceVersion, finalizers = [] } = set.metadata;
    const rest = finalizers.filter((finalizer) => finalizer !== Finalizers.MachineControllerManager);
    const body = { metadata: { uid, resourceVersion, finalizers: rest } };
    await ignoreNotFound(this.#sets.patch(name, { type: 'merge', body }, { signal }));
  }
}

function blockingOf({ metadata: { uid } }: MachineSet, repairs: RepairPlan | undefined): readonly Blocking[] {
  const isMine = (machine: Machine) => controllerOf(machine)?.uid === uid;
  const held = (repairs?.held ?? []).filter(({ machine }) => isMine(machine));
  const waits = (repairs?.waiting ?? []).some(isMine);
  return [...held.map(({ breaker }) => breakerBlock(breaker.scope)), ...(waits ? [budgetBlock] : [])];
}

interface ReplicaResult {
  readonly failure: Failure | undefined;
  readonly lookAgain: Outcome;
  readonly held: readonly HeldMachine[];
  readonly blocking: readonly Blocking[];
}

interface Failure {
  readonly shown: ReplicaFailure | undefined;
  readonly error: unknown;
}

const problemOf = (failure: Failure | undefined): string | undefined => failure && errorText(failure.error);

function failureOf(during: ReplicaFailure['during'], { error }: WriteResult): Failure | undefined {
  if (error === undefined) return undefined;
  // A request without a response may have succeeded, so mcm repeats the request and reports no failure
  // (docs/compatibility/rules-deployments.md §7.6).
  if (mayHaveHappened(error)) return { shown: undefined, error };
  return { shown: { during, message: error instanceof Error ? error.message : String(error) }, error };
}

/** Creates the controller of MachineSets, with the caches of the context. */
export function createSetController(context: ControllerContext, options: { readonly concurrency: number }): Controller {
  const reconciler = new SetReconciler(context, (key, afterMs) => controller.enqueue(key, afterMs));
  const controller: Controller = createController({
    name: 'machineset',
    concurrency: options.concurrency,
    reconcile: reconciler.reconcile,
    of: context.sets,
    ...controllerParts(context),
  });
  wakeSets(controller, context);
  wakeWaiters(controller, context, reconciler.waiting);
  return controller;
}
