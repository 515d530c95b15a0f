import {
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type Change, type ConfigMap, configMaps, ignoreNotFound } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import type { Dice } from '../script/dice.ts';
import { follow } from '../verifiers/follow.ts';
import { NAMESPACE, type World, type WorldOptions } from '../world/world.ts';
import type { Feature, FeatureWish, OptIn } from './feature.ts';

const NAME = 'machine-disruptions';
const AVAILABLE: ReadonlySet<string | undefined> = new Set(['Running', 'Available']);

interface Numbers {
  readonly machines: number;
  readonly available: number;
  readonly allowed: number;
}

interface State extends Pick<Numbers, 'machines' | 'available'> {
  readonly at: number;
  readonly allowed: readonly number[];
}

interface Limits {
  readonly repairs: number;
  readonly rollout: number;
}

const numberIn = (row: string, field: string): number => Number(new RegExp(`^${field}: (\\d+)$`, 'm').exec(row)?.[1]);

const textOf = ({ machines: all, available, allowed }: Numbers | State): string =>
  `${all} machines, ${available} available, ${allowed} allowed`;

/**
 * Compares the ConfigMap about disruptions with the machines:
 * - Each write of the manager contains numbers that were correct a moment ago.
 * - The number of allowed disruptions comes from the flag, and during a rollout from `maxUnavailable` (at least 1).
 * - The manager never writes an unchanged object, and writes at most once per interval.
 * - At the end, the ConfigMap describes a complete fleet without disruptions.
 */
class ReportFeature implements Feature {
  readonly maxWaitMs = 60_000;
  readonly #world: World;
  readonly #limits: Limits;
  readonly #machines = new Map<string, Machine>();
  readonly #sets = new Map<string, MachineSet>();
  readonly #states: State[] = [];
  readonly #goneAt: number[] = [];
  #isOurs = false;
  #wroteAt = Number.NEGATIVE_INFINITY;
  #starts = 0;
  #className: string | undefined;
  #updates = 0;
  #verified = 0;

  constructor(world: World, limits: Limits, signal: AbortSignal) {
    this.#world = world;
    this.#limits = limits;
    this.#note();
    follow<Machine>(world, machines, signal, (change) => this.#file(this.#machines, change));
    follow<MachineSet>(world, machineSets, signal, (change) => this.#file(this.#sets, change));
    follow<MachineDeployment>(world, machineDeployments, signal, ({ object }) => {
      this.#className = object.spec.template.spec.class.name;
      this.#note();
    });
    follow<ConfigMap>(world, configMaps, signal, (change) => this.#written(change));
  }

  get verified(): number {
    return this.#verified;
  }

  get #now(): number {
    return this.#world.clock.now().getTime();
  }

  async act(dice: Dice): Promise<void> {
    const client = this.#world.admin.resource<ConfigMap>(configMaps, NAMESPACE);
    this.#isOurs = true;
    if (dice.number(2) === 0) {
      this.#world.reporter.note('act', 'another client deletes the ConfigMap machine-disruptions');
      await ignoreNotFound(client.delete(NAME));
    } else {
      this.#world.reporter.note('act', 'a late write of a former leader changes the ConfigMap machine-disruptions');
      const data = { cluster: 'machines: 99\navailable: 98\n', 'zone.old': 'machines: 1\n' };
      await ignoreNotFound(client.patch(NAME, { type: 'merge', body: { data } }));
    }
    await this.#world.clock.settle();
    this.#isOurs = false;
  }

  async calm(): Promise<void> {
    // The faults of this feature end by themselves, so this method does nothing.
  }

  /** Deletes a machine, as a user does. */
  async verifyTimely(wish: FeatureWish): Promise<void> {
    const world = this.#world;
    if (wish.replicas === 0) {
      wish.replicas = 1;
      await world.change({ replicas: 1 });
      await world.untilAllSettled([wish], BOUNDS.settled.ms);
    }
    const [machine] = await world.machines();
    if (machine === undefined) return;
    // The replacement joins late. If it joined immediately, the numbers might stay the same.
    const kubelet = { joinDelay: 2 * BOUNDS.reported.ms };
    world.cloud.faults.order({ operation: 'instances.boot', kubelet, count: 1 });
    await world.clock.advance(BOUNDS.reported.ms);
    const before = this.#verified;
    await world.deleteMachine(machine.metadata.name);
    await world.clock.advance(BOUNDS.reported.ms);
    if (this.#verified === before)
      world.reporter.violate('the ConfigMap machine-disruptions does not change after the deletion of a machine');
    // No event shows that the circuit breaker closes, so the test waits until the manager has written this to the
    // ConfigMap.
    const client = world.admin.resource<ConfigMap>(configMaps, NAMESPACE);
    const isOpen = async (): Promise<boolean> =>
      Object.values((await ignoreNotFound(client.get(NAME)))?.data ?? {}).some((row) => row.includes('breaker: Open'));
    await world.until(async () => !(await isOpen()), BOUNDS.settled.ms);
  }

  async verifyEnd({ replicas }: FeatureWish): Promise<void> {
    const object = await ignoreNotFound(this.#world.admin.resource<ConfigMap>(configMaps, NAMESPACE).get(NAME));
    const { cluster = '', 'zone.local-a': zone = '', ...others } = object?.data ?? {};
    const complete = { machines: replicas, available: replicas, allowed: this.#limits.repairs };
    const violate = (text: string): void => this.#world.reporter.violate(text);
    if (textOf(numbersOf(cluster)) !== textOf(complete))
      violate(
        `the ConfigMap machine-disruptions has ${textOf(numbersOf(cluster))}, but the fleet has ${textOf(complete)}`,
      );
    for (const field of ['inUse', 'waiting'])
      if (numberIn(cluster, field) !== 0)
        violate(`the fleet is complete, but the ConfigMap machine-disruptions has ${JSON.stringify(cluster)}`);
    for (const row of [cluster, zone])
      if (!row.includes('breaker: Closed\n'))
        violate(`the circuit breaker must be closed in the ConfigMap machine-disruptions: ${JSON.stringify(row)}`);
    const patches = this.#world.writes.filter((write) => write === `patch configmaps ${NAME}`).length;
    if (patches !== this.#updates)
      violate(`the manager patched the ConfigMap machine-disruptions ${patches} times for ${this.#updates} changes`);
    if (Object.keys(others).length > 0)
      violate(
        `the fleet is complete, but the ConfigMap machine-disruptions has the keys ${Object.keys(others).join(', ')}`,
      );
  }

  #file<T extends Machine | MachineSet>(all: Map<string, T>, { type, object }: Change<T>): void {
    if (type === 'deleted') {
      all.delete(object.metadata.uid);
      if (Object.is(all, this.#machines)) this.#goneAt.push(this.#now);
    } else all.set(object.metadata.uid, object);
    this.#note();
  }

  #note(): void {
    const isAvailable = ({ metadata, status }: Machine): boolean =>
      metadata.deletionTimestamp === undefined && AVAILABLE.has(status?.currentStatus?.phase);
    const { repairs, rollout } = this.#limits;
    const sets = [...this.#sets.values()];
    const owners = sets.filter(({ spec }) => (spec.replicas ?? 0) > 0);
    // A rollout starts before its new MachineSet exists, and ends after the last old machine is gone.
    const mayRoll = sets.length > 1 || sets.some(({ spec }) => spec.template.spec.class.name !== this.#className);
    this.#states.push({
      at: this.#now,
      machines: this.#machines.size,
      available: [...this.#machines.values()].filter(isAvailable).length,
      allowed: owners.length > 1 ? [rollout] : mayRoll ? [rollout, repairs] : [repairs],
    });
  }

  #written(change: Change<ConfigMap>): void {
    const { metadata, data = {} } = change.object;
    if (metadata.name !== NAME || change.type === 'deleted' || this.#isOurs) return;
    this.#verified++;
    if (change.type === 'updated') this.#updates++;
    const { network, reporter } = this.#world;
    if (change.type === 'updated' && JSON.stringify(change.old.data) === JSON.stringify(data))
      reporter.violate('the manager writes the ConfigMap machine-disruptions without a change');
    const starts = reporter.managerStartCount;
    if (starts === this.#starts && this.#now - this.#wroteAt < BOUNDS.reportPeriod.ms - network.lagMs('manager'))
      reporter.violate(
        `the manager writes the ConfigMap machine-disruptions again after only ${this.#now - this.#wroteAt} ms`,
      );
    this.#starts = starts;
    this.#wroteAt = this.#now;
    this.#verifyRow(data.cluster ?? '');
  }

  #verifyRow(row: string): void {
    const { network, reporter } = this.#world;
    const since =
      this.#now - network.lagMs('manager', 'machinedeployments', 'machinesets', 'machines') - BOUNDS.reportLate.ms;
    const recent = this.#states.slice(
      Math.max(
        this.#states.findLastIndex(({ at }) => at <= since),
        0,
      ),
    );
    const written = row === '' ? { machines: 0, available: 0, allowed: Number.NaN } : numbersOf(row);
    // The cache of the manager may contain its new machines before it shows the deletion of other machines.
    const ever = this.#machines.size + this.#goneAt.filter((at) => at >= since).length;
    const isRecent = recent.some(
      (state) =>
        state.available === written.available &&
        (state.machines === written.machines || (state.machines < written.machines && written.machines <= ever)),
    );
    const hasLimit = row === '' || recent.some(({ allowed }) => allowed.includes(written.allowed));
    if (isRecent && hasLimit) return;
    const known = [...new Set(recent.map(textOf))].join('; ');
    reporter.violate(
      `the manager writes ${textOf(written)} to the ConfigMap machine-disruptions, but the fleet had: ${known}`,
    );
  }
}

const numbersOf = (row: string): Numbers => ({
  machines: numberIn(row, 'machines'),
  available: numberIn(row, 'available'),
  allowed: numberIn(row, 'allowed'),
});

/** @param strategy the rollout limits of the deployment */
export const reportOptIn = ({
  maxUnavailable = 0,
  maxUnhealthyReplacements = 1,
}: Pick<WorldOptions, 'maxUnavailable' | 'maxUnhealthyReplacements'>): OptIn => ({
  options: { reports: true },
  watch: (world, signal) =>
    new ReportFeature(world, { repairs: maxUnhealthyReplacements, rollout: Math.max(maxUnavailable, 1) }, signal),
});
