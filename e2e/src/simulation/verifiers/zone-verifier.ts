import { Annotations, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import type { Change } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import type { World } from '../world/world.ts';
import { follow } from './follow.ts';

/** The zones of the deployment in the histories `zones`. */
export const ZONES = ['local-a', 'local-b', 'local-c'] as const;

/** The zones as the text of the annotation. */
export const ZONE_LIST = JSON.stringify(ZONES.map((zone) => ({ zone })));

function zoneIn({ metadata }: Machine, key: string): string | undefined {
  const { zone }: { readonly zone?: string } = JSON.parse(metadata.annotations?.[key] ?? '{}');
  return zone;
}

/**
 * Reports wrong decisions about zones:
 * - A machine has a zone from the start, and the zone always equals the zone of its recorded offering.
 * - The VM of a machine is in the zone of the machine.
 * - No machine is created in an evacuated zone.
 * - No machine is created in a zone on standby, while another zone works.
 * - No machine is created in a zone without capacity, which an evacuation recorded, while another zone works.
 * - Without changes, the numbers of machines in the zones differ by at most one.
 */
export class ZoneVerifier {
  readonly #world: World;
  readonly #machines = new Map<string, Machine>();
  #evacuated: { readonly zone: string; readonly since: number } | undefined;
  /** The times at which the deployment recorded the zones on standby. */
  #standby: ReadonlyMap<string, number> = new Map();
  /** The times at which the deployment recorded the zones without capacity. */
  #short: ReadonlyMap<string, number> = new Map();
  /** For each zone, whether a machine runs, and the time of the last change. */
  readonly #runs = new Map<string, { readonly any: boolean; readonly since: number }>();
  #evacuationChanged = Number.NEGATIVE_INFINITY;
  #placed = 0;

  private constructor(world: World) {
    this.#world = world;
  }

  /** Runs the verifier until `signal` aborts. */
  static watch(world: World, signal: AbortSignal): ZoneVerifier {
    const verifier = new ZoneVerifier(world);
    follow<Machine>(world, machines, signal, (change) => verifier.#changed(change));
    follow<MachineDeployment>(world, machineDeployments, signal, ({ object }) => verifier.#recorded(object));
    return verifier;
  }

  /** The number of machines that were created during the evacuation of a zone. */
  get placed(): number {
    return this.#placed;
  }

  get #now(): number {
    return this.#world.clock.now().getTime();
  }

  /** Evacuates one zone, and ends the evacuation of all other zones. */
  async evacuate(zone: string | undefined): Promise<void> {
    this.#evacuated = undefined;
    await this.#world.annotate({ [Annotations.ZonesEvacuated]: zone ?? null });
    this.#evacuationChanged = this.#now;
    if (zone !== undefined) this.#evacuated = { zone, since: this.#now };
  }

  #recorded({ metadata }: MachineDeployment): void {
    const recorded = (key: string, before: ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
      const entries = (metadata.annotations?.[key] ?? '').split(',').filter((entry) => entry !== '');
      const zones = entries.map((entry) => entry.split('=')[0] ?? '');
      return new Map(zones.map((zone) => [zone, before.get(zone) ?? this.#now]));
    };
    this.#standby = recorded(Annotations.ZonesStandby, this.#standby);
    this.#short = recorded(Annotations.ZonesShort, this.#short);
  }

  #noteRunning(): void {
    const running = [...this.#machines.values()].filter(({ status }) => status?.currentStatus?.phase === 'Running');
    const zones = new Set(running.map((one) => zoneIn(one, Annotations.ZoneOffering)));
    for (const zone of ZONES) {
      const any = zones.has(zone);
      if (this.#runs.get(zone)?.any !== any) this.#runs.set(zone, { any, since: this.#now });
    }
  }

  #changed({ type, object }: Change<Machine>): void {
    const { uid, name } = object.metadata;
    if (type === 'deleted') this.#machines.delete(uid);
    else this.#machines.set(uid, object);
    this.#noteRunning();
    const { reporter, cloud } = this.#world;
    const zone = zoneIn(object, Annotations.ZoneOffering);
    if (zone === undefined) {
      reporter.violate(`${name} has no zone`);
      return;
    }
    const record = zoneIn(object, Annotations.CapacityOffering);
    if (record !== undefined && record !== zone)
      reporter.violate(`${name} is in zone ${zone}, but records zone ${record}`);
    const vms = [...cloud.instances.list()].filter((vm) => vm.name === name && vm.state !== 'terminated');
    for (const vm of vms)
      if (vm.zone !== zone) reporter.violate(`${name} is in zone ${zone}, but its VM is in zone ${vm.zone}`);
    if (type === 'added') this.#verifyPlace(name, zone);
  }

  /** Verifies the zone of a new machine. A decision may use a state of the deployment that is as old as the caches. */
  #verifyPlace(name: string, zone: string): void {
    const lagMs = this.#world.lagMs() + BOUNDS.offeringPrepared.ms;
    if (this.#isOnStandby(zone, lagMs) && ZONES.some((other) => this.#works(other, lagMs)))
      this.#world.reporter.violate(`mcm created ${name} in zone ${zone}, which is on standby`);
    const isShort = (this.#short.get(zone) ?? this.#now) + lagMs < this.#now;
    if (isShort && ZONES.some((other) => other !== zone && !this.#short.has(other) && this.#works(other, lagMs)))
      this.#world.reporter.violate(`mcm created ${name} in zone ${zone}, which has no capacity`);
    if (!this.#evacuated) return;
    this.#placed++;
    if (zone === this.#evacuated.zone && this.#now > this.#evacuated.since + lagMs)
      this.#world.reporter.violate(`mcm created ${name} in the evacuated zone ${zone}`);
  }

  /**
   * Whether each decision in the last `lagMs` read that the zone is on standby, and read no running machine that ends
   * the standby.
   */
  #isOnStandby(zone: string, lagMs: number): boolean {
    const began = Math.max(this.#standby.get(zone) ?? this.#now, this.#runs.get(zone)?.since ?? this.#now);
    return this.#standby.has(zone) && this.#runs.get(zone)?.any === false && began + lagMs < this.#now;
  }

  /** Whether each decision in the last `lagMs` read an open zone with a running machine. */
  #works(zone: string, lagMs: number): boolean {
    const runs = this.#runs.get(zone);
    const isStable = this.#evacuationChanged + lagMs < this.#now;
    const isOpen = isStable && this.#evacuated?.zone !== zone && !this.#standby.has(zone);
    return isOpen && runs?.any === true && runs.since + lagMs < this.#now;
  }

  /** Waits until no zone is on standby. A lost zone without machines leaves standby only after 30 minutes. */
  async untilOpen(): Promise<void> {
    await this.#world.until(async () => this.#standby.size === 0, BOUNDS.settled.ms);
  }

  async untilBalanced(): Promise<void> {
    await this.#world.until(async () => this.#imbalance() === undefined, BOUNDS.settled.ms);
  }

  async verifyBalance(): Promise<void> {
    await this.#world.clock.settle();
    const text = this.#imbalance();
    if (text !== undefined) this.#world.reporter.violate(text);
  }

  #imbalance(): string | undefined {
    const all = [...this.#machines.values()];
    const counts = ZONES.map((zone) => all.filter((one) => zoneIn(one, Annotations.ZoneOffering) === zone).length);
    return Math.max(...counts) - Math.min(...counts) > 1
      ? `the zones have unequal numbers of machines: ${counts.join(', ')}`
      : undefined;
  }
}
