import { type Machine, type MachineClass, parseTime } from '@mcm/api';
import { again, type Change, done, errorText, type Key, keyOf, makeKey, type Outcome } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { ClockJump } from '../../flow/clock-jump.ts';
import { HourlyCap } from '../../flow/hourly-cap.ts';
import { Lane } from '../../flow/lane.ts';
import { InstanceSet, instanceKey } from '../../node/instance.ts';
import { OrphanTags } from '../orphan-tags/orphan-tags.ts';
import type { QuarantineCause } from '../orphan-tags/plan.ts';
import { type Listing, Listings } from './listings.ts';
import { liveOrphans } from './live-orphans.ts';
import { NodeCollector } from './node-collector.ts';
import { OrphanDrains } from './orphan-drains.ts';
import { withoutForeign, withoutKept } from './orphan-filters.ts';
import type { OrphanReconcileOptions } from './orphan-options.ts';
import { confirmOrphans, isOrphan, machineOfOrphanVm } from './orphan-vms.ts';
import {
  notedIn,
  noteQuarantine,
  type QuarantineView,
  quarantineCause,
  quarantinedVms,
  releasedVms,
  reportingClass,
} from './quarantine.ts';
import { findRestore } from './restore-proof.ts';
import type { Use } from './served.ts';
import { StoppedVms } from './stopped-vms.ts';
import { DELETED, isDrained, isQuarantined, isStopped, orphanVerdict, stopsAfterDrain } from './verdict.ts';

const MINUTE = 60_000;

const MIN_INTERVAL_MS = MINUTE;

const REPORTED_AFTER_FAILURES = 3;

/**
 * The maximum number of deletions of VMs at the same time. A deletion that ignores its abort signal no longer counts.
 */
const DELETIONS_AT_ONCE = 10;
/** The maximum number of provider IDs in one log line. */
const MOST_LOGGED = 20;

/** mcm keeps an orphaned VM without a Node object for this time, so that an operator can restart its kubelet. */
const UNSEEN_HOLD_MS = 60 * MINUTE;

const NODES_KEY: Key = 'nodes';

const saysAmbiguous = (machine: Machine): boolean =>
  machine.status?.lastOperation?.description?.includes('OutOfRange') ?? false;

/**
 * Returns the keys of the searches that a change of a machine starts. The deletion of a machine starts a search of its
 * class and of the Nodes. A change of a machine with several VMs starts a search of its class.
 */
export function orphanKeysOf(change: Change<Machine>): readonly Key[] {
  const { metadata, spec } = change.object;
  const key = makeKey(metadata.namespace, spec.class.name ?? '');
  if (change.type === 'deleted') return [key, NODES_KEY];
  return change.type === 'updated' && saysAmbiguous(change.object) && !saysAmbiguous(change.old) ? [key] : [];
}

export interface SuspectCounts {
  readonly vms: number;
  readonly nodes: number;
  readonly quarantined: number;
  readonly stopped: number;
}

/**
 * The state of the search for orphans of one class. A restart loses this state, so mcm then needs one more search
 * before the deletion of an orphan.
 */
interface ClassState {
  notBefore: Date;
  decided?: Listing;
  firstSeen: ReadonlyMap<string, Date>;
  reported: ReadonlyMap<string, string>;
  failures: number;
  seenReleases?: ReadonlySet<string>;
  unlisted?: true;
  quarantined: ReadonlySet<string>;
  released: InstanceSet;
  /** The other control clusters for which mcm has already sent an event. */
  readonly foreign: Set<string>;
}

/**
 * Finds VMs and Nodes without a Machine. Each class has a queue key, and all Nodes together have one key. The deletion
 * of Nodes needs the VM listings of all classes, so one class with a slow cloud delays the deletion.
 */
export class OrphanCollector {
  readonly #o: OrphanReconcileOptions;
  readonly #listings: Listings;
  readonly #nodes: NodeCollector;
  readonly #drains: OrphanDrains;
  readonly #classes = new Map<Key, ClassState>();
  readonly #cap: HourlyCap;
  readonly #jump: ClockJump;
  readonly #lane = new Lane(DELETIONS_AT_ONCE);
  readonly #tags: OrphanTags;
  readonly #stopped: StoppedVms;
  readonly #deleting = new Set<string>();
  /** The time of the last restore from a backup. After a restore, machines may be missing on the API server. */
  #wentBackAt: Date | undefined;
  #nodesNotBefore: Date | undefined;

  constructor(options: OrphanReconcileOptions) {
    this.#o = options;
    this.#cap = new HourlyCap(options.options.maxPerHour, options.clock);
    this.#jump = new ClockJump(options.clock);
    this.#tags = tagsOf(options);
    this.#listings = new Listings({ ...options, ended: options.wake, tagKeys: this.#tags.keys });
    this.#nodes = new NodeCollector(options, this.#listings);
    this.#drains = new OrphanDrains(options);
    this.#stopped = new StoppedVms(options, this.#lane, this.#tags);
    options.control.history.onWentBack(() => {
      this.#wentBackAt = options.clock.now();
      this.#startOver('The API server was restored to an older state: restarting the search for orphans');
    });
  }

  suspects(): SuspectCounts {
    // Each class lists all VMs of the cluster, so the set counts each VM once.
    const vms = new Set([...this.#classes.values()].flatMap(({ firstSeen }) => [...firstSeen.keys()]));
    const quarantined = new Set([...this.#classes.values()].flatMap((state) => [...state.quarantined]));
    const stopped = this.#stopped.count();
    return { vms: vms.size, nodes: this.#nodes.suspects, quarantined: quarantined.size, stopped };
  }

  /** The keys that are reconciled first, because no change of an object starts them. */
  readonly firstKeys: readonly Key[] = [NODES_KEY];

  readonly reconcile = async (key: Key): Promise<Outcome> => {
    if (this.#o.frozen()) return again(MIN_INTERVAL_MS);
    if (this.#jump.happened()) this.#startOver('The system clock was changed: the search for orphans restarts');
    return key === NODES_KEY ? this.#nodesPass() : this.#classPass(key);
  };

  #startOver(because: string): void {
    this.#o.log.warn(because);
    this.#classes.clear();
    this.#listings.clear();
    this.#nodes.startOver();
    this.#nodesNotBefore = undefined;
  }

  async #nodesPass(): Promise<Outcome> {
    const { clock, options } = this.#o;
    const now = clock.now();
    this.#nodesNotBefore ??= new Date(now.getTime() + MIN_INTERVAL_MS);
    if (now < this.#nodesNotBefore) return again(this.#nodesNotBefore.getTime() - now.getTime());
    this.#nodesNotBefore = new Date(now.getTime() + MIN_INTERVAL_MS);
    const nextAt = await this.#nodes.pass(now);
    const untilNext = nextAt ? nextAt.getTime() - clock.now().getTime() : options.periodMs;
    return again(Math.max(Math.min(untilNext, options.periodMs), MIN_INTERVAL_MS));
  }

  async #classPass(key: Key): Promise<Outcome> {
    const { caches, clock, invoker } = this.#o;
    if (!invoker.can.list) return done;
    const machineClass = caches.classes.store.get(key);
    if (!machineClass) {
      this.#classes.delete(key);
      this.#tags.forget(key);
      this.#listings.forget(key);
      return done;
    }
    const now = clock.now();
    const state: ClassState = this.#classes.get(key) ?? {
      notBefore: new Date(now.getTime() + MIN_INTERVAL_MS),
      firstSeen: new Map(),
      released: new InstanceSet([]),
      reported: new Map(),
      failures: 0,
      quarantined: new Set(),
      foreign: new Set(),
    };
    this.#classes.set(key, state);
    if (this.#listings.running(key)) return done;
    const listing = this.#listings.of(key);
    if (listing && listing !== state.decided) return this.#decide(machineClass, state, listing);
    this.#backOff(key, state, now);
    this.#reportUnlisted(machineClass, key, state);
    if (this.#releases(machineClass, state)) state.notBefore = now;
    if (now < state.notBefore) return again(state.notBefore.getTime() - now.getTime());
    state.notBefore = new Date(now.getTime() + MIN_INTERVAL_MS);
    this.#listings.begin(machineClass);
    return again(this.#o.options.periodMs);
  }

  /** Returns true if an operator has released a VM, so that the next search starts immediately. */
  #releases(machineClass: MachineClass, state: ClassState): boolean {
    const released = new Set([machineClass, ...this.#others(machineClass)].flatMap(releasedVms));
    const isMore = state.seenReleases !== undefined && [...released].some((id) => !state.seenReleases?.has(id));
    state.seenReleases = released;
    return isMore;
  }

  #others(machineClass: MachineClass): readonly MachineClass[] {
    return this.#o.caches.classes.store.list().filter((other) => keyOf(other) !== keyOf(machineClass));
  }

  /**
   * Reports that mcm cannot list the VMs of a class. Without the event, operators would notice orphans only on the bill
   * of the cloud.
   */
  #reportUnlisted(machineClass: MachineClass, key: Key, state: ClassState): void {
    const { recorder, invoker } = this.#o;
    const error = this.#listings.error(key);
    if (error === undefined && state.unlisted) {
      delete state.unlisted;
      recorder.event(machineClass, 'Normal', 'ListingWorks', 'mcm can list the VMs of the class again');
    }
    if (error === undefined || state.unlisted || this.#listings.failures(key) < REPORTED_AFTER_FAILURES) return;
    // The class controller already reports the problems of an invalid class.
    if (invoker.check(machineClass).length > 0) return;
    state.unlisted = true;
    const text = `mcm cannot search for orphans, because the list call of the class fails: ${error}`;
    recorder.event(machineClass, 'Warning', 'ListingFailed', text);
  }

  /** Delays the next listing after a failure by 1, 2, 4 … minutes, up to the period of the search. */
  #backOff(key: Key, state: ClassState, now: Date): void {
    const failures = this.#listings.failures(key);
    if (failures > state.failures) {
      const waitMs = Math.min(
        MIN_INTERVAL_MS * 2 ** (failures - 1),
        Math.max(this.#o.options.periodMs, MIN_INTERVAL_MS),
      );
      state.notBefore = new Date(now.getTime() + waitMs);
    }
    state.failures = failures;
  }

  async #decide(machineClass: MachineClass, state: ClassState, listing: Listing): Promise<Outcome> {
    const { caches, clock, options, log, namespace } = this.#o;
    const now = clock.now();
    const ours = withoutForeign(this.#o, machineClass, state.foreign, listing);
    const machineOf = (vm: ListedInstance) => caches.machines.store.get(makeKey(namespace, vm.machineName));
    const recorders = (vm: ListedInstance) => caches.machines.store.byIndex('instance', instanceKey(vm.providerId));
    const withoutMachine = ours.filter((vm) => isOrphan(vm, machineOf(vm), recorders(vm)));
    this.#tags.startSearch(machineClass, listing.vms);
    const used = new Set(ours).difference(new Set(withoutMachine));
    for (const vm of used) this.#tags.show(machineClass, vm, { is: 'used' }, listing.startedAt);
    this.#findRestore(ours, withoutMachine, recorders);
    const { suspects, released } = await withoutKept(this.#o, machineClass, withoutMachine, listing, now);
    state.released = released;
    const fresh = suspects.filter(({ providerId }) => !state.firstSeen.has(providerId));
    state.firstSeen = new Map(
      suspects.map(({ providerId }) => [providerId, state.firstSeen.get(providerId) ?? now] as const),
    );
    if (fresh.length > 0) {
      const vms = fresh.slice(0, MOST_LOGGED).map(({ providerId }) => providerId);
      const fields = { class: machineClass.metadata.name, count: fresh.length, vms };
      log.info('Orphan VMs found; checking the VMs again before their deletion', fields);
    }
    const { confirmed, nextAt } = confirmOrphans(suspects, state.firstSeen, now, options.confirmAfterMs);
    const draining = await this.#collect(machineClass, state, listing, { suspects, confirmed });
    state.decided = listing;
    const times = [nextAt, this.#stopped.nextAt(suspects)].flatMap((at) => at?.getTime() ?? []);
    const untilNext = times.length > 0 ? Math.min(...times) - clock.now().getTime() : options.periodMs;
    return again(draining ? MIN_INTERVAL_MS : Math.max(Math.min(untilNext, options.periodMs), MIN_INTERVAL_MS));
  }

  /** After a restart, the caches are new, so mcm detects a restore of the API server from the creation times of VMs. */
  #findRestore(
    vms: readonly ListedInstance[],
    withoutMachine: readonly ListedInstance[],
    recorders: (vm: ListedInstance) => readonly Machine[],
  ): void {
    const { control, log, owner } = this.#o;
    const times = control.history.vacancies;
    if (times.length === 0) return;
    const found = findRestore({ times, vms, withoutMachine, recorders, owner: owner?.() });
    if (!found || (this.#wentBackAt !== undefined && found.time.to <= this.#wentBackAt)) return;
    this.#wentBackAt = found.time.to;
    const fields = { providerId: found.vm.providerId, from: found.time.from, to: found.time.to };
    log.warn('A VM was created while no process was the leader: the API server was restored from a backup', fields);
  }

  /** The deletion of a VM cannot be undone, so mcm reads the machines from the API server after the list of VMs. */
  async #collect(
    machineClass: MachineClass,
    state: ClassState,
    listing: Listing,
    {
      suspects,
      confirmed,
    }: { readonly suspects: readonly ListedInstance[]; readonly confirmed: readonly ListedInstance[] },
  ): Promise<boolean> {
    const key = keyOf(machineClass);
    const ids = new Set(confirmed.map(({ providerId }) => providerId));
    this.#drains.keepOnly(key, ids);
    const reported = new Map<string, string>();
    const left = suspects.filter(({ providerId }) => !this.#deleting.has(providerId));
    const orphans = confirmed.length > 0 ? await liveOrphans(this.#o, left, listing) : [];
    const view: QuarantineView = {
      machineClass,
      releasedElsewhere: this.#others(machineClass).flatMap(releasedVms),
      quarantinedElsewhere: this.#others(machineClass).flatMap(quarantinedVms),
      listed: listing.vms.length,
      lost: orphans.filter((each) => each.use.use === 'unclaimed' || this.#heldUntil(each.vm, each.use, state)).length,
      wentBackAt: this.#wentBackAt,
    };
    // VMs that an earlier process put into quarantine stay there until this process has confirmed that they are
    // orphans.
    const noted = notedIn(machineClass, left).filter((id) => !ids.has(id));
    const quarantined = new Map<string, QuarantineCause>(noted.map((id) => [id, 'already-in-quarantine']));
    for (const { vm, machine, use } of orphans) {
      if (!ids.has(vm.providerId)) continue;
      const verdict = this.#verdict(vm, use, view, this.#heldUntil(vm, use, state));
      reported.set(vm.providerId, verdict);
      const cause = isQuarantined(verdict) ? quarantineCause(vm, view) : undefined;
      if (cause) quarantined.set(vm.providerId, cause);
      if (!this.#reportedOf(vm, verdict))
        this.#report(this.#reporter(machineClass, vm, use), vm, machine !== undefined, verdict);
      if (verdict === DELETED) this.#delete(machineClass, vm);
      if (isStopped(verdict)) this.#stopped.begin(machineClass, vm, suspects);
      if (!isDrained(verdict) || !(await this.#drain(machineClass, vm, use))) continue;
      if (stopsAfterDrain(verdict)) this.#stopped.begin(machineClass, vm, suspects);
      else this.#delete(machineClass, vm);
    }
    state.reported = reported;
    state.quarantined = new Set(quarantined.keys());
    await this.#noteQuarantine(machineClass, state.quarantined, listing);
    await this.#stopped.record(machineClass, suspects);
    for (const vm of left) this.#showTags(machineClass, vm, quarantined.get(vm.providerId), listing);
    return [...reported.values()].some(isDrained);
  }

  /** Changes the tags of a VM only if the VM is in quarantine or stopped. */
  #showTags(
    machineClass: MachineClass,
    vm: ListedInstance,
    because: QuarantineCause | undefined,
    { startedAt }: Listing,
  ): void {
    const until = this.#stopped.planFor(vm)?.until;
    if (because) this.#tags.show(machineClass, vm, { is: 'quarantined', because }, startedAt);
    else if (until && this.#o.clock.now() < until)
      this.#tags.show(machineClass, vm, { is: 'stopped', until }, startedAt);
  }

  async #noteQuarantine(machineClass: MachineClass, ids: ReadonlySet<string>, { vms }: Listing): Promise<void> {
    const { caches, control, log } = this.#o;
    const newest = caches.classes.store.get(keyOf(machineClass));
    if (!newest || this.#o.options.policy === 'report') return;
    try {
      const written = await noteQuarantine(
        control,
        newest,
        [...ids],
        vms,
        this.#others(newest).flatMap(quarantinedVms),
      );
      if (written) caches.classes.recordWrite(written);
    } catch (error) {
      const fields = { class: machineClass.metadata.name, error: errorText(error) };
      log.warn('Cannot record the VMs in quarantine on their class; the next search retries', fields);
    }
  }

  #verdict(vm: ListedInstance, use: Use, view: QuarantineView, heldUntil: Date | undefined): string {
    const { clock, journal, options } = this.#o;
    const now = clock.now();
    const seen = { vm, use, view, policy: options.policy, heldUntil, stop: this.#stopped.planFor(vm) };
    const wanted = orphanVerdict({ ...seen, admitted: true }, now);
    const goes = wanted === DELETED || isDrained(wanted) || isStopped(wanted);
    const input = { ...seen, admitted: goes && this.#cap.admits(vm.providerId) };
    const verdict = goes ? orphanVerdict(input, now) : wanted;
    const subject = { kind: 'VM', namespace: this.#o.namespace, name: vm.machineName, uid: vm.providerId };
    journal?.record({ kind: 'orphanvm', subject, at: now, input, decision: verdict, because: verdict, actions: [] });
    return verdict;
  }

  /**
   * Returns the time until which mcm keeps an orphaned VM. A VM older than the creation timeout had a machine and a
   * Node, so its pods may still run.
   */
  #heldUntil({ providerId, createdAt }: ListedInstance, { use }: Use, state: ClassState): Date | undefined {
    const seen = state.firstSeen.get(providerId);
    if (use !== 'unseen' || !seen || state.released.has(providerId)) return undefined;
    const made = parseTime(createdAt)?.getTime() ?? Number.NEGATIVE_INFINITY;
    const isLate = seen.getTime() - made >= this.#o.defaults.creationTimeoutMs;
    return isLate ? new Date(seen.getTime() + UNSEEN_HOLD_MS) : undefined;
  }

  /** Drains the Node of an orphaned VM, and returns true if the VM may be deleted. */
  async #drain(machineClass: MachineClass, vm: ListedInstance, use: Use): Promise<boolean> {
    if (use.use !== 'unclaimed') return false;
    const { log, stop } = this.#o;
    try {
      return await this.#drains.step(vm, use.node, machineClass, stop);
    } catch (error) {
      const fields = { providerId: vm.providerId, node: use.node.metadata.name, error: errorText(error) };
      log.warn('Cannot drain the Node of an orphan VM; the next search retries', fields);
      return false;
    }
  }

  #reportedOf({ providerId }: ListedInstance, verdict: string): boolean {
    return [...this.#classes.values()].some(({ reported }) => reported.get(providerId) === verdict);
  }

  #reporter(machineClass: MachineClass, { providerId }: ListedInstance, use: Use): MachineClass {
    const lists = (other: MachineClass): boolean =>
      this.#listings.of(keyOf(other))?.vms.some((vm) => vm.providerId === providerId) === true;
    const classes = [machineClass, ...this.#others(machineClass).filter(lists)];
    return reportingClass(classes, 'node' in use ? use.node : undefined) ?? machineClass;
  }

  #report(machineClass: MachineClass, vm: ListedInstance, exists: boolean, verdict: string): void {
    const { providerId, machineName } = vm;
    const { log, recorder } = this.#o;
    const text = exists
      ? `VM ${providerId} has the name of machine ${machineName}, but spec.providerID of the machine names another VM; ${verdict}`
      : `VM ${providerId} is an orphan: its machine ${machineName} does not exist; ${verdict}`;
    log.warn('Orphan VM', { providerId, machine: machineName, verdict });
    recorder.event(machineClass, 'Warning', 'OrphanVM', text);
  }

  #delete(machineClass: MachineClass, { providerId, machineName }: ListedInstance): void {
    const { invoker, log, clock } = this.#o;
    const fields = { providerId, machine: machineName };
    this.#deleting.add(providerId);
    const orphan = machineOfOrphanVm({ providerId, machineName, machineClass }, clock.now());
    void this.#lane
      .run((leave) =>
        invoker.delete(orphan, (error) => {
          leave();
          log.warn('Deletion of an orphan VM ignores its abort signal', { ...fields, error: error.message });
        }),
      )
      .then(
        () => log.warn('Orphan VM deleted', fields),
        (error: unknown) =>
          log.warn('Cannot delete orphan VM; the next search retries', { ...fields, error: errorText(error) }),
      )
      .finally(() => this.#deleting.delete(providerId));
  }
}

/** Without `--orphan-tags` and `--orphan-stop-period`, mcm changes no tags, because the permission may be missing. */
const tagsOf = (options: OrphanReconcileOptions): OrphanTags => {
  const { policy, tags = false, stopMs = 0 } = options.options;
  return new OrphanTags({
    ...options,
    enabled: policy !== 'report' && (tags || stopMs > 0),
    machineOf: (machineClass, vm) => machineOfOrphanVm({ ...vm, machineClass }, options.clock.now()),
  });
};
