import type { Machine } from '@mcm/api';
import type { Pace } from '../recordings/cloud.ts';
import { phaseOf } from '../recordings/fields.ts';
import { Names } from '../recordings/names.ts';
import { type ObjectStates, objectsIn, statesByObject } from '../recordings/object-states.ts';
import type { State } from '../recordings/recording.ts';
import { machinesOf } from './idle.ts';
import { millis, type Stage } from './stage.ts';

interface Times {
  readonly join: number[];
  readonly leave: number[];
}

interface LoadedTimes {
  readonly joinAt: number | undefined;
  readonly isLeaving: boolean;
  readonly goneAt: number | undefined;
}

export interface RecordedPace extends Pace {
  readonly loaded: ReadonlyMap<string, LoadedTimes>;
}

/**
 * Returns the durations of cloud operations for a replayed history:
 * - The n-th machine of a set joins as fast as the n-th machine in the recording, and its deletion takes as long.
 * - If a machine is loaded during its creation or deletion, the step ends at the recorded time.
 *
 * @param isLoaded whether the machines in the first state are loaded instead of created
 */
export function paceOf(states: readonly State[], stage: () => Stage | undefined, isLoaded = false): RecordedPace {
  const lives = statesByObject(states);
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

const nameOf = ({ versions }: ObjectStates): string => versions[0]?.object.metadata.name ?? '';

const joinedAt = ({ versions }: ObjectStates): number | undefined =>
  versions.find(({ object }) => phaseOf(object) === 'Running')?.at;

const leavesSince = ({ versions }: ObjectStates): number | undefined =>
  versions.find(({ object }) => object.metadata.deletionTimestamp)?.at;

function loadedTimes(life: ObjectStates): LoadedTimes {
  const [version] = life.versions;
  const isLeaving = version?.object.metadata.deletionTimestamp !== undefined;
  return {
    joinAt: version && phaseOf(version.object) === 'Running' ? undefined : joinedAt(life),
    isLeaving,
    goneAt: isLeaving ? life.goneAt : undefined,
  };
}

function timesOf(lives: readonly ObjectStates[], loaded: ReadonlySet<string>): ReadonlyMap<string, Times> {
  const names = new Names(objectsIn(lives));
  const times = new Map<string, Times>();
  const machines = lives.filter(({ kind }) => kind === 'Machine');
  const timesFor = (life: ObjectStates): Times => {
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
