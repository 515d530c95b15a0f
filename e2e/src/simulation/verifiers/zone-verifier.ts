import { Annotations, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import type { Change } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import type { World } from '../world/world.ts';
import { follow } from './follow.ts';

export const ZONES = ['local-a', 'local-b', 'local-c'] as const;

export const ZONE_LIST = JSON.stringify(ZONES.map((zone) => ({ zone })));

function zoneIn({ metadata }: Machine, key: string): string | undefined {
  const { zone }: { readonly zone?: string } = JSON.parse(metadata.annotations?.[key] ?? '{}');
  return zone;
}

/**
 * Verifies decisions about zones:
 * - From its creation on, a machine has a zone, which equals the zone of its recorded offering.
 * - The VM of a machine is in this zone.
 * - mcm creates no machine in an evacuated zone.
 * - mcm creates no machine in a zone on standby while another zone works.
 * - If an evacuation has recorded that a zone has no capacity, mcm creates no machine there while another zone works.
 * - If nothing changes, the numbers of machines in the zones differ by at most one.
 */
export class ZoneVerifier {
  readonly #world: World;
  readonly #machines = new Map<string, Machine>();
  #evacuated: { readonly zones: readonly string[]; readonly since: number } | undefined;
  #standby: ReadonlyMap<string, number> = new Map();
  #short: ReadonlyMap<string, number> = new Map();
  readonly #runs = new Map<string, { readonly any: boolean; readonly since: number }>();
  #evacuationChanged = Number.NEGATIVE_INFINITY;
  #placed = 0;

  private constructor(world: World) {
    this.#world = world;
  }

  static watch(world: World, signal: AbortSignal): ZoneVerifier {
    const verifier = new ZoneVerifier(world);
    follow<Machine>(world, machines, signal, (change) => verifier.#changed(change));
    follow<MachineDeployment>(world, machineDeployments, signal, ({ object }) => verifier.#recorded(object));
    return verifier;
  }

  get placed(): number {
    return this.#placed;
  }

  get #now(): number {
    return this.#world.clock.now().getTime();
  }

  async evacuate(...zones: readonly string[]): Promise<void> {
    this.#evacuated = undefined;
    await this.#world.annotate({ [Annotations.ZonesEvacuated]: zones.join(',') || null });
    this.#evacuationChanged = this.#now;
    if (zones.length > 0) this.#evacuated = { zones, since: this.#now };
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

  /** Verifies that a new machine has an allowed zone. */
  #verifyPlace(name: string, zone: string): void {
    const lagMs = this.#world.lagMs() + BOUNDS.offeringPrepared.ms;
    if (this.#isOnStandby(zone, lagMs) && ZONES.some((other) => this.#works(other, lagMs)))
      this.#world.reporter.violate(`mcm created ${name} in zone ${zone}, which is on standby`);
    const isShort = (this.#short.get(zone) ?? this.#now) + lagMs < this.#now;
    if (isShort && ZONES.some((other) => other !== zone && !this.#short.has(other) && this.#works(other, lagMs)))
      this.#world.reporter.violate(`mcm created ${name} in zone ${zone}, which has no capacity`);
    if (!this.#evacuated) return;
    this.#placed++;
    if (this.#evacuated.zones.includes(zone) && this.#now > this.#evacuated.since + lagMs)
      this.#world.reporter.violate(`mcm created ${name} in the evacuated zone ${zone}`);
  }

  /**
   * Returns true if a zone has been on standby without a Running machine for more than `lagMs`, so that every decision
   * must know this.
   */
  #isOnStandby(zone: string, lagMs: number): boolean {
    const began = Math.max(this.#standby.get(zone) ?? this.#now, this.#runs.get(zone)?.since ?? this.#now);
    return this.#standby.has(zone) && this.#runs.get(zone)?.any === false && began + lagMs < this.#now;
  }

  /**
   * Returns true if a zone has been open with a Running machine for more than `lagMs`, so that every decision must know
   * this.
   */
  #works(zone: string, lagMs: number): boolean {
    const runs = this.#runs.get(zone);
    const isStable = this.#evacuationChanged + lagMs < this.#now;
    const isOpen = isStable && this.#evacuated?.zones.includes(zone) !== true && !this.#standby.has(zone);
    return isOpen && runs?.any === true && runs.since + lagMs < this.#now;
  }

  /** Waits until no zone is on standby. */
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
