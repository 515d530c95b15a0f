import type { Machine } from '@mcm/api';
import type { KubeObject } from '@mcm/kube';
import type { Pace } from './cloud.ts';
import { type Life, type Observer, objectsIn } from './lives.ts';
import { Names } from './names.ts';

const phaseOf = (object: KubeObject): string | undefined =>
  (object as { status?: { currentStatus?: { phase?: string } } }).status?.currentStatus?.phase;

/** How long the machines of each set took, in the order in which they came and in which they left. */
interface Times {
  readonly join: number[];
  readonly leave: number[];
}

/**
 * The cloud of a history: its n-th machine of a set joins as late as the recorded n-th did, and the n-th that leaves takes
 * as long. So what users do meets ours as far as it met the original.
 */
export function paceOf(recorded: readonly Life[], observer: () => Observer | undefined): Pace {
  const times = timesOf(recorded);
  const order = { join: new Map<string, string[]>(), leave: new Map<string, string[]>() };
  const msOf = (what: 'join' | 'leave', machine: Machine): number => {
    const names = new Names(objectsIn(observer()?.lives ?? []));
    const part = names.part(machine.metadata.name);
    const seen = order[what].get(part) ?? [];
    order[what].set(part, seen);
    if (!seen.includes(machine.metadata.uid)) seen.push(machine.metadata.uid);
    return (times.get(part)?.[what][seen.indexOf(machine.metadata.uid)] ?? 0) * 1_000;
  };
  return { joinMs: (machine) => msOf('join', machine), leaveMs: (machine) => msOf('leave', machine) };
}

function timesOf(lives: readonly Life[]): ReadonlyMap<string, Times> {
  const names = new Names(objectsIn(lives));
  const times = new Map<string, Times>();
  const machines = lives.filter(({ kind }) => kind === 'Machine');
  const timesFor = ({ versions }: Life): Times => {
    const part = names.part(versions[0]?.object.metadata.name ?? '');
    const found = times.get(part) ?? { join: [], leave: [] };
    times.set(part, found);
    return found;
  };
  for (const life of machines) {
    const seen = life.versions[0]?.at ?? 0;
    const running = life.versions.find(({ object }) => phaseOf(object) === 'Running')?.at ?? seen;
    timesFor(life).join.push(running - seen);
  }
  const leaving = machines.flatMap((life) => {
    const since = life.versions.find(({ object }) => object.metadata.deletionTimestamp)?.at;
    return since === undefined ? [] : [{ life, since }];
  });
  leaving.sort((one, other) => one.since - other.since);
  for (const { life, since } of leaving) timesFor(life).leave.push((life.goneAt ?? since) - since);
  return times;
}
