import type { Key } from '@mcm/kube';
import { WaitingLists } from '../../flow/waiting-lists.ts';
import type { DrainMemory, DrainObservation, SharedLimit } from '../model/observation.ts';
import { FAST_MS } from './volume-window.ts';
import { movesUnderWay } from './volumes.ts';

type Counts = ReadonlyMap<string, number>;

export interface VolumePaceOptions {
  readonly most: number;
  readonly first: number;
  readonly wake: (key: Key) => void;
}

export interface VolumeState {
  readonly driver: string;
  readonly limit: number;
  readonly moving: number;
}

export function volumesMoving(o: DrainObservation, now: Date): Counts {
  const counts = new Map<string, number>();
  for (const { move } of movesUnderWay(o, now)) addVolumes(counts, o, move.volumes);
  return counts;
}

export function addVolumes(counts: Map<string, number>, o: DrainObservation, volumes: readonly string[]): void {
  for (const volume of volumes) {
    const driver = o.attach?.driverOf.get(volume);
    if (driver !== undefined) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  }
}

/**
 * Limits the number of volumes of each CSI driver that all drains of the process move at the same time. A CSI driver
 * calls the cloud with one account, so all drains share the rate limit of the account.
 */
export class VolumePace {
  readonly #options: VolumePaceOptions;
  readonly #limits = new Map<string, number>();
  readonly #learned = new Set<string>();
  readonly #moving = new Map<string, Counts>();
  readonly #totals = new Map<string, number>();
  readonly #halvedAt = new Map<string, number>();
  readonly #slow = new Map<string, Set<string>>();
  readonly #waiting = new WaitingLists();
  #changed: () => void = () => undefined;
  #loaded = false;

  constructor(options: VolumePaceOptions) {
    this.#options = options;
  }

  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  /** Loads the limits that an earlier process has learned, but keeps the limits that this process has learned. */
  load(limits: Counts): void {
    this.#loaded = true;
    for (const [driver, limit] of limits)
      if (!this.#learned.has(driver)) this.#limits.set(driver, this.#bounded(limit));
    for (const driver of new Set([...limits.keys(), ...this.#totals.keys()])) this.#wake(driver);
  }

  get learned(): Counts {
    return new Map([...this.#learned].map((driver) => [driver, this.limitOf(driver)]));
  }

  *states(): Generator<VolumeState> {
    for (const driver of new Set([...this.#limits.keys(), ...this.#totals.keys()]))
      yield { driver, limit: this.limitOf(driver), moving: this.#totals.get(driver) ?? 0 };
  }

  limitOf(driver: string): number {
    // Before mcm has loaded the stored limits, the smallest limit applies.
    return this.#limits.get(driver) ?? (this.#loaded ? this.#bounded(this.#options.first) : 1);
  }

  #bounded(limit: number): number {
    return Math.max(1, Math.min(limit, this.#options.most));
  }

  limitsFor(uid: string, drivers: Iterable<string>): ReadonlyMap<string, SharedLimit> {
    const own = this.#moving.get(uid);
    return new Map(
      [...drivers].map((driver) => {
        const others = (this.#totals.get(driver) ?? 0) - (own?.get(driver) ?? 0);
        return [driver, { limit: this.limitOf(driver), others }];
      }),
    );
  }

  moves(uid: string, counts: Counts): void {
    const before = this.#moving.get(uid);
    if (counts.size > 0) this.#moving.set(uid, counts);
    else {
      this.#moving.delete(uid);
      this.#slow.delete(uid);
    }
    for (const driver of new Set([...(before?.keys() ?? []), ...counts.keys()])) {
      const by = (counts.get(driver) ?? 0) - (before?.get(driver) ?? 0);
      const total = (this.#totals.get(driver) ?? 0) + by;
      if (total > 0) this.#totals.set(driver, total);
      else this.#totals.delete(driver);
      if (by < 0) this.#wake(driver);
    }
  }

  waits(key: Key, drivers: readonly string[]): void {
    this.#waiting.set(key, drivers);
  }

  #wake(driver: string): void {
    const free = this.limitOf(driver) - (this.#totals.get(driver) ?? 0);
    for (const key of this.#waiting.takeTurns(driver, free)) this.#options.wake(key);
  }

  learn(machine: string, before: DrainMemory, o: DrainObservation, now: Date): void {
    const slow = this.#slow.get(machine) ?? new Set();
    for (const [uid, { goneAt, detachedAt, volumes }] of o.memory.moves) {
      if (goneAt === undefined) continue;
      const known = before.moves.get(uid);
      if (known?.detachedAt !== undefined) continue;
      const tookMs = (detachedAt ?? now).getTime() - goneAt.getTime();
      const drivers = new Set(volumes.flatMap((volume) => o.attach?.driverOf.get(volume) ?? []));
      for (const driver of drivers) {
        if (tookMs >= o.detachTimeoutMs / 2) {
          if (!slow.has(uid)) this.#halve(driver, o.detachTimeoutMs / 2, now);
        } else if (detachedAt !== undefined && tookMs <= FAST_MS) this.#set(driver, this.limitOf(driver) + 1);
      }
      if (tookMs >= o.detachTimeoutMs / 2) this.#slow.set(machine, slow.add(uid));
    }
  }

  /** Halves the limit after a slow detach. Several slow detaches within a short time halve the limit only once. */
  #halve(driver: string, pauseMs: number, now: Date): void {
    const last = this.#halvedAt.get(driver);
    if (last !== undefined && now.getTime() - last < pauseMs) return;
    this.#halvedAt.set(driver, now.getTime());
    this.#set(driver, Math.floor(this.limitOf(driver) / 2));
  }

  #set(driver: string, limit: number): void {
    const bounded = this.#bounded(limit);
    if (this.#limits.get(driver) === bounded) return;
    this.#limits.set(driver, bounded);
    this.#learned.add(driver);
    this.#changed();
    this.#wake(driver);
  }
}
