import type { Machine } from '@mcm/api';
import type { KubeObject } from '@mcm/kube';
import type { Pace } from '../recordings/cloud.ts';
import { type Life, livesIn, objectsIn } from '../recordings/lives.ts';
import { Names } from '../recordings/names.ts';
import type { State } from '../recordings/recording.ts';
import { machinesOf } from './rest.ts';
import { millis, type Stage } from './stage.ts';

const phaseOf = (object: KubeObject): string | undefined =>
  (object as { status?: { currentStatus?: { phase?: string } } }).status?.currentStatus?.phase;

/** How long the machines of each set took, in the order in which they came and in which they left, in seconds. */
interface Times {
  readonly join: number[];
  readonly leave: number[];
}

/** When a machine that was loaded joined and left, in seconds of the recording; undefined: it did not. */
interface LoadedTimes {
  readonly joinAt: number | undefined;
  /** Whether its deletion had begun. */
  readonly isLeaving: boolean;
  readonly goneAt: number | undefined;
}

/** The pace of a recorded cloud, from the first of its states on. */
export interface RecordedPace extends Pace {
  /** By name: the machines of the first state, when they were loaded. */
  readonly loaded: ReadonlyMap<string, LoadedTimes>;
}

/**
 * The cloud of a history. The n-th machine of a set joins as late as the recorded n-th one, and its n-th deletion takes as long.
 * Actions of users therefore occur in the same situation. A machine that was loaded during its creation or deletion completes it at the recorded
 * time.
 *
 * @param isLoaded Whether the machines of the first state are loaded instead of created.
 */
export function paceOf(states: readonly State[], stage: () => Stage | undefined, isLoaded = false): RecordedPace {
  const lives = livesIn(states);
  const first = isLoaded && states[0] ? machinesOf(states[0]).map(({ metadata }) => metadata.uid) : [];
  const loadedLives = lives.filter(({ kind, uid }) => kind === 'Machine' && first.includes(uid));
  const loaded = new Map(loadedLives.map((life) => [nameOf(life), loadedTimes(life)]));
  const times = timesOf(lives, new Set(first));
  const order = { join: new Map<string, string[]>(), leave: new Map<string, string[]>() };
  const msOf = (what: 'join' | 'leave', machine: Machine): number => {
    const names = new Names(objectsIn(stage()?.observer.lives ?? []));
    const part = names.part(machine.metadata.name);
    const seen = order[what].get(part) ?? [];
    order[what].set(part, seen);
    if (!seen.includes(machine.metadata.uid)) seen.push(machine.metadata.uid);
    return (times.get(part)?.[what][seen.indexOf(machine.metadata.uid)] ?? 0) * 1_000;
  };
  /** From an instant until a second of the recording; undefined where the recording does not say. */
  const left = (since: number | undefined, at: number | undefined): number | undefined =>
    since === undefined || at === undefined ? undefined : (stage()?.instantOf(at) ?? since) - since;
  return {
    loaded,
    joinMs: (machine) => {
      const known = loaded.get(machine.metadata.name);
      return known ? (left(stage()?.clock.now().getTime(), known.joinAt) ?? 0) : msOf('join', machine);
    },
    leaveMs: (machine) => {
      const { name, deletionTimestamp } = machine.metadata;
      const known = loaded.get(name);
      return known?.isLeaving ? (left(millis(deletionTimestamp), known.goneAt) ?? 0) : msOf('leave', machine);
    },
  };
}

const nameOf = ({ versions }: Life): string => versions[0]?.object.metadata.name ?? '';

const joinedAt = ({ versions }: Life): number | undefined =>
  versions.find(({ object }) => phaseOf(object) === 'Running')?.at;

const leavesSince = ({ versions }: Life): number | undefined =>
  versions.find(({ object }) => object.metadata.deletionTimestamp)?.at;

/** Of a machine that was there already, what had begun: a birth, or a death. */
function loadedTimes(life: Life): LoadedTimes {
  const [version] = life.versions;
  const isLeaving = version?.object.metadata.deletionTimestamp !== undefined;
  return {
    joinAt: version && phaseOf(version.object) === 'Running' ? undefined : joinedAt(life),
    isLeaving,
    goneAt: isLeaving ? life.goneAt : undefined,
  };
}

function timesOf(lives: readonly Life[], loaded: ReadonlySet<string>): ReadonlyMap<string, Times> {
  const names = new Names(objectsIn(lives));
  const times = new Map<string, Times>();
  const machines = lives.filter(({ kind }) => kind === 'Machine');
  const timesFor = (life: Life): Times => {
    const part = names.part(nameOf(life));
    const found = times.get(part) ?? { join: [], leave: [] };
    times.set(part, found);
    return found;
  };
  for (const life of machines) {
    if (loaded.has(life.uid)) continue;
    const seen = life.versions[0]?.at ?? 0;
    timesFor(life).join.push((joinedAt(life) ?? seen) - seen);
  }
  const leaving = machines.flatMap((life) => {
    const since = leavesSince(life);
    const hadBegun = loaded.has(life.uid) && since === life.versions[0]?.at;
    return since === undefined || hadBegun ? [] : [{ life, since }];
  });
  leaving.sort((one, other) => one.since - other.since);
  for (const { life, since } of leaving) timesFor(life).leave.push((life.goneAt ?? since) - since);
  return times;
}
