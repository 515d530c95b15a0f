import { Annotations, Labels, type Machine, type MachineSet, MachineSetConditions } from '@mcm/api';
import { findCondition } from '../../objects/conditions.ts';
import { type LostState, lostStateOf } from '../../objects/machines.ts';
import { zoneNameIn } from '../../zones/setting.ts';

interface Adopted {
  readonly lostState: LostState;
  readonly zone: string | undefined;
}

const zoneOf = ({ metadata }: Machine): string | undefined =>
  zoneNameIn(metadata.annotations?.[Annotations.ZoneOffering] ?? '');

/** Returns the zones in the annotation, with one entry for each replica. */
function recordedZones({ metadata }: MachineSet): readonly string[] {
  return (metadata.annotations?.[Annotations.ZonesOfReplicas] ?? '').split(',').flatMap((entry) => {
    const [, zone = '', count = ''] = /^(.+)=(\d{1,5})$/.exec(entry) ?? [];
    return Array<string>(Number(count)).fill(zone);
  });
}

const printZones = (zones: readonly string[]): string =>
  [...Map.groupBy(zones, (zone) => zone)]
    .map(([zone, all]) => `${zone}=${all.length}`)
    .sort()
    .join(',');

function missingFrom(recorded: readonly string[], there: readonly string[]): readonly string[] {
  const left = [...recorded];
  for (const zone of there) {
    const index = left.indexOf(zone);
    if (index >= 0) left.splice(index, 1);
  }
  return left;
}

/** The number of lost replicas, by the state that their former machines had reached. */
type LostStateCounts = Readonly<Record<LostState, number>>;

const NONE: LostStateCounts = { served: 0, unjoined: 0 };

/**
 * Limits the counts to the number of open replicas. Replicas whose machines have run pods count first, because their
 * replacements delay other replacements for longer.
 */
function atMost(open: number, { served, unjoined }: LostStateCounts): LostStateCounts {
  const first = Math.min(served, open);
  return { served: first, unjoined: Math.min(unjoined, open - first) };
}

/**
 * Returns true if the set has had machines. The count in the status returns to 0 with the last deletion, so it does not
 * show that the set has had machines.
 */
function hasHadMachines({ metadata, status }: MachineSet): boolean {
  if ((status?.replicas ?? 0) > 0) return true;
  const conditions = status?.machineSetCondition ?? [];
  const isBlocked =
    metadata.labels?.[Labels.ScaleUpDisabled] !== undefined ||
    BLOCKING_CONDITIONS.some((type) => findCondition(conditions, type));
  return (status?.observedGeneration ?? 0) > 0 && !isBlocked;
}

const BLOCKING_CONDITIONS = [MachineSetConditions.InvalidSpec, MachineSetConditions.ReplicaFailure] as const;

/**
 * Counts the replicas of a set that lost their machine and have no replacement yet. A set needs the number of lost
 * replicas to distinguish replacements from additional machines.
 */
export class LostReplicas {
  #adoption: Map<string, Adopted> | undefined;
  #lost: LostStateCounts = NONE;
  #homes: string[] = [];

  #places(set: MachineSet, alive: readonly Machine[]): LostStateCounts {
    const open = Math.max((set.spec.replicas ?? 0) - alive.length, 0);
    if (this.#adoption === undefined) return { ...NONE, served: hasHadMachines(set) ? open : 0 };
    const there = new Set(alive.map(({ metadata }) => metadata.uid));
    const lost = { ...this.#lost };
    for (const [uid, { lostState }] of this.#adoption) if (!there.has(uid)) lost[lostState]++;
    return atMost(open, lost);
  }

  get homes(): readonly string[] {
    return this.#homes;
  }

  /** After a restart, mcm reads the zones of lost machines from the annotation. */
  get record(): string | undefined {
    if (this.#adoption === undefined) return undefined;
    return printZones([...[...this.#adoption.values()].flatMap(({ zone }) => zone ?? []), ...this.#homes]);
  }

  /**
   * Returns the number of lost replicas.
   * @param alive machines of the set that are not being deleted
   */
  count(set: MachineSet, alive: readonly Machine[]): number {
    const { served, unjoined } = this.#places(set, alive);
    return served + unjoined;
  }

  look(set: MachineSet, alive: readonly Machine[]): readonly LostState[] {
    this.#lost = this.#places(set, alive);
    const there = new Set(alive.map(({ metadata }) => metadata.uid));
    const gone = this.#adoption
      ? [...this.#adoption].flatMap(([uid, { zone }]) => (zone && !there.has(uid) ? [zone] : []))
      : missingFrom(
          recordedZones(set),
          alive.flatMap((one) => zoneOf(one) ?? []),
        );
    const open = Math.max((set.spec.replicas ?? 0) - alive.length, 0);
    this.#homes = open === 0 ? [] : [...this.#homes, ...gone].slice(-open);
    this.#adoption = new Map(
      alive.map((one) => [one.metadata.uid, { lostState: lostStateOf(one), zone: zoneOf(one) }]),
    );
    const { served, unjoined } = this.#lost;
    return [...Array<LostState>(served).fill('served'), ...Array<LostState>(unjoined).fill('unjoined')];
  }

  /**
   * Records a new machine. If the machine does not exist at a later call of `look` or `count`, it counts as lost.
   * @param lostState the state of the former machine, if the new machine is a replacement
   */
  made(machine: Machine, lostState: LostState | undefined): void {
    const zone = zoneOf(machine);
    this.#adoption?.set(machine.metadata.uid, { lostState: 'served', zone });
    const home = this.#homes.indexOf(zone ?? '');
    if (home >= 0) this.#homes.splice(home, 1);
    if (lostState !== undefined) this.#lost = { ...this.#lost, [lostState]: Math.max(this.#lost[lostState] - 1, 0) };
  }
}
