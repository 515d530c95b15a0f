import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { type Change, changing, type Raw, type RawState } from './comparison/vary.ts';
import { type History, parseHistory } from './recordings/recording.ts';
import { Stage } from './stage/stage.ts';
import { takeOver } from './take-over.ts';

/**
 * Reads a history and changes its states. mcm must use the time of each recorded action, or the state at the time of
 * the action.
 */
async function history(file: string, ...changes: readonly Change[]): Promise<History> {
  const text = await readFile(new URL(`../../../testdata/takeover/${file}`, import.meta.url), 'utf8');
  return parseHistory(
    file,
    changes.reduce((now, change) => change(now), text),
  );
}

/** Returns a change that delays all states after a certain second of the recording. */
const delayed = (from: number, seconds: number): Change =>
  changing(({ states }) => {
    for (const state of states) if (state.at >= from) state.at += seconds;
  });

const cutAfter = (at: number): Change =>
  changing((raw) => {
    raw.states = raw.states.filter((state) => state.at <= at);
  });

const indexAt = ({ states }: History, at: number): number => states.findIndex((state) => state.at === at);

test('a recording in which a machine joined after its creation timeout and was kept cannot be from mcm', async () => {
  const slow = await history('birth.json', delayed(5, 60));
  expect((await takeOver(slow, 0)).failure).toContain('machines, but the original created 3');
  const inTime = await history('birth.json', delayed(5, 30));
  expect((await takeOver(inTime, 0)).failure).toBeUndefined();
});

test('a VM that was loaded during its boot joins at the recorded time', async () => {
  const withoutNodes = changing(({ states }) => {
    const nodes = states[1]?.changed.filter(({ kind }) => kind === 'Node') ?? [];
    states[1]?.changed.splice(0, Number.POSITIVE_INFINITY, ...states[1].changed.filter(({ kind }) => kind !== 'Node'));
    states[2]?.changed.push(...nodes);
  });
  const booting = await history('birth.json', withoutNodes, delayed(5, 30));
  expect((await takeOver(booting, 1)).failure).toBeUndefined();
  const late = await history('birth.json', withoutNodes, delayed(5, 60));
  expect((await takeOver(late, 1)).failure).toContain('machines, but the original created 0');
});

test('actions after a delayed action keep their distance from it', async () => {
  const stage = await Stage.open(await history('birth.json'));
  try {
    await stage.reach(5);
    await stage.clock.advance(10_000);
    await stage.reach(8);
    expect(stage.seconds).toBe(15);
    await stage.reach(12);
    expect(stage.seconds).toBe(19);
  } finally {
    await stage.close();
  }
});

const READY = { reason: 'KubeletReady', message: 'ok', status: 'True', type: 'Ready' };
const DEADLOCK = { reason: 'Stuck', message: 'gone', status: 'True', type: 'KernelDeadlock' };
interface WithConditions {
  readonly status?: { conditions?: { type: string; status: string }[]; lastOperation?: { description?: string } };
}
const deadlocked = changing(({ states }) => {
  for (const object of states.flatMap(({ changed }) => changed) as (RawState['changed'][number] & WithConditions)[]) {
    const conditions = object.status?.conditions;
    const [condition] = conditions ?? [];
    if (!conditions || condition?.type !== 'Ready' || condition.status !== 'False') continue;
    conditions.splice(0, 1, { ...condition, ...READY }, { ...condition, ...DEADLOCK });
    const operation = object.status?.lastOperation;
    if (operation?.description)
      operation.description = operation.description
        .replace('Type:Ready Status:False', 'Type:KernelDeadlock Status:True')
        .replace('KubeletNotReady', 'Stuck');
  }
});

test('the final state is observed only until a health timeout would change it', async () => {
  const unknown = await history('unhealthy.json', deadlocked, cutAfter(11));
  expect((await takeOver(unknown, unknown.states.length - 1)).failure).toBeUndefined();
});

const PRIORITY = 'machinepriority.machine.sapcloud.io';

/** Returns a change that exchanges the states of two machines after a certain second of the recording. */
const exchanged = (from: number, one: string, other: string): Change =>
  changing((raw: Raw) => {
    const uids = new Map<string, string>();
    for (const { changed } of raw.states)
      for (const { kind, metadata } of changed)
        uids.set(`${kind}/${metadata.name}`, (metadata as { uid?: string }).uid ?? '');
    const pairs = [
      [one, other],
      ...['Machine', 'Node'].map((kind) => [uids.get(`${kind}/${one}`) ?? '', uids.get(`${kind}/${other}`) ?? '']),
    ];
    raw.states = raw.states.map((state) => {
      if (state.at < from) return state;
      const text = pairs.reduce(
        (now, [a = '', b = '']) => now.replaceAll(a, '<a>').replaceAll(b, a).replaceAll('<a>', b),
        JSON.stringify(state),
      );
      return JSON.parse(text) as RawState;
    });
  });

test('the choice is free between machines that differed when they were loaded and were equal at the scale-in', async () => {
  const free = await history('scale-up-and-down.json', exchanged(18, 'pool-6f576-kqsh8', 'pool-6f576-rkrvm'));
  expect((await takeOver(free, indexAt(free, 1.2))).failure).toBeUndefined();
});

test('the choice is not free between machines that were equal when they were loaded and differed at the scale-in', async () => {
  // The original deletes a machine with priority 3, and keeps the machine to which the user gave priority 1.
  const ordinary = changing(({ states }) => {
    for (const state of states.filter(({ at }) => at >= 18))
      for (const { metadata } of state.changed as { metadata: { annotations?: Record<string, string> } }[])
        if (metadata.annotations?.[PRIORITY]) metadata.annotations[PRIORITY] = '3';
  });
  const exchange = exchanged(18, 'pool-6f576-2vgbp', 'pool-6f576-rbllq');
  const wrong = await history('scale-up-and-down.json', ordinary, exchange);
  expect((await takeOver(wrong, indexAt(wrong, 15))).failure).toContain(
    'Machine pool-6f576-2vgbp no longer exists, but the original kept it',
  );
});
