import type { MachineRow } from '@mcm/dashboard';
import { describe, expect, test } from 'vitest';
import { Lives } from './lives.ts';
import { Samples } from './samples.ts';
import { Successors } from './successors.ts';

const HOUR = 3_600_000;
const row = (name: string, more: Partial<MachineRow> = {}): MachineRow => ({
  key: `default/${name}`,
  uid: `uid-${name}`,
  ns: 'default',
  name,
  deployment: 'web',
  set: 'web-a',
  zone: 'a',
  cls: 'small',
  node: '',
  phase: 'Pending',
  level: 'starting',
  stage: 'vm',
  why: '',
  since: 0,
  created: 0,
  ...more,
});

describe('the lives of machines', () => {
  test('each change of step, level or reason starts a segment, and an equal row does not', () => {
    const lives = new Lives();
    lives.put(row('m'), 10, true);
    lives.put(row('m'), 20, false);
    lives.put(row('m', { why: 'no capacity', level: 'blocked' }), 30, false);
    lives.put(row('m', { stage: 'join' }), 40, false);
    lives.put(row('m', { stage: 'run', level: 'ready', node: 'n' }), 50, false);
    const { life } = lives.get('default/m') ?? {};
    expect(life?.segments.map(({ from, stage, why }) => [from, stage, why])).toEqual([
      [0, 'vm', ''],
      [30, 'vm', 'no capacity'],
      [40, 'join', ''],
      [50, 'run', ''],
    ]);
    expect(life?.marks.map(({ text }) => text)).toEqual(['created', 'VM created', 'joined and Ready']);
  });

  test('a deleted machine keeps its last state for six hours, and not longer', () => {
    const lives = new Lives();
    lives.put(row('m', { phase: 'Failed', why: 'disk broke' }), 0, true);
    lives.put(row('other'), 0, true);
    lives.drop('default/m', 1_000);
    lives.drop('default/m', 2_000);
    lives.expire(1_000 + 6 * HOUR);
    expect(lives.get('default/m')).toMatchObject({ row: { why: 'disk broke' }, life: { gone: 1_000 } });
    lives.expire(1_001 + 6 * HOUR);
    expect(lives.get('default/m')).toBeUndefined();
    expect(lives.ofDeployment('default', 'web', 10).map(({ key }) => key)).toEqual(['default/other']);
  });

  test('a machine with the name of a deleted one begins a new life', () => {
    const lives = new Lives();
    lives.put(row('m', { why: 'old' }), 0, true);
    lives.drop('default/m', 10);
    lives.put(row('m', { uid: 'second', created: 20 }), 20, true);
    expect(lives.get('default/m')?.life).toMatchObject({ created: 20, gone: 0, segments: [{ from: 20, why: '' }] });
    lives.expire(10 * HOUR);
    expect(lives.get('default/m')?.life.created).toBe(20);
    expect(lives.ofDeployment('default', 'web', 10)).toHaveLength(1);
  });

  test('the memory is limited: the oldest segments and deleted machines are dropped first, and current states never', () => {
    const lives = new Lives(100);
    for (let index = 0; index < 60; index += 1) lives.put(row(`m-${index}`), index, true);
    for (let index = 0; index < 30; index += 1) lives.drop(`default/m-${index}`, 100 + index);
    for (let turn = 0; turn < 5_000; turn += 1) lives.put(row('m-59', { why: `try ${turn}` }), 1_000 + turn, false);
    expect(lives.size).toBeLessThanOrEqual(100);
    expect(lives.get('default/m-0')).toBeUndefined();
    for (let index = 30; index < 60; index += 1) expect(lives.get(`default/m-${index}`)).toBeDefined();
    expect(lives.get('default/m-59')?.life.segments.at(-1)?.why).toBe('try 4999');
    expect(lives.get('default/m-59')?.life.segments.length).toBeLessThanOrEqual(100);
  });

  test('a machine that joins and leaves repeatedly keeps at most 100 marks, including its creation', () => {
    const lives = new Lives();
    for (let turn = 0; turn < 500; turn += 1)
      lives.put(row('m', { stage: turn % 2 === 0 ? 'join' : 'run' }), turn, turn === 0);
    const marks = lives.get('default/m')?.life.marks ?? [];
    expect([marks.length, marks[0]?.text, marks.at(-1)?.at]).toEqual([100, 'created', 499]);
  });

  test('a drain keeps at most 300 samples, its first and its last', () => {
    const lives = new Lives();
    lives.put(row('m'), 0, true);
    for (let left = 1_000; left > 0; left -= 1) lives.drain('default/m', { at: left, left, blockers: [] });
    lives.drain('default/m', { at: 0, left: 1, blockers: [] });
    const drain = lives.get('default/m')?.drain ?? [];
    expect(drain.length).toBeLessThanOrEqual(300);
    expect([drain[0]?.left, drain.at(-1)]).toEqual([1_000, { at: 1, left: 1, blockers: [] }]);
  });
});

describe('samples', () => {
  test('samples cover many hours with a limited length, and the last minutes are exact', () => {
    const samples = new Samples(100, 1_000);
    for (let second = 0; second < 10_000; second += 1) samples.add([second * 1_000, second]);
    expect(samples.all.length).toBeLessThanOrEqual(100);
    expect(samples.all[0]).toEqual([0, 0]);
    expect(samples.all.slice(-40).map(([, value]) => value)).toEqual(Array.from({ length: 40 }, (_, i) => 9_960 + i));
  });

  test('equal values are one sample, and a burst is merged', () => {
    const samples = new Samples(10, 1_000);
    for (const sample of [
      [0, 1],
      [5_000, 1],
      [6_000, 2],
      [6_100, 3],
      [6_200, 4],
    ] as const)
      samples.add(sample);
    expect(samples.all).toEqual([
      [0, 1],
      [6_000, 4],
    ]);
  });
});

describe('the successor of a machine', () => {
  test('a replacement is the next machine of the same deployment', () => {
    const successors = new Successors();
    expect(successors.leaves(row('old'), 0)).toBeUndefined();
    expect(successors.created(row('elsewhere', { deployment: 'db' }), 10)).toBeUndefined();
    expect(successors.created(row('new'), 20)).toBe('default/old');
    expect(successors.created(row('extra'), 30)).toBeUndefined();
  });

  test('a rollout creates the successor first', () => {
    const successors = new Successors();
    successors.created(row('new'), 0);
    expect(successors.leaves(row('old'), 10)).toBe('default/new');
    expect(successors.leaves(row('older'), 20)).toBeUndefined();
  });

  test('a machine that was created more than half an hour later is no successor, and a machine is not its own successor', () => {
    const successors = new Successors();
    successors.leaves(row('old'), 0);
    expect(successors.created(row('late'), 1_800_000)).toBeUndefined();
    successors.leaves(row('self', { deployment: 'db' }), 0);
    expect(successors.created(row('self', { deployment: 'db' }), 1)).toBeUndefined();
  });

  test('a machine that leaves is no successor of a later machine', () => {
    const successors = new Successors();
    successors.created(row('first'), 0);
    successors.created(row('second'), 10);
    expect(successors.leaves(row('first'), 20)).toBe('default/second');
    expect(successors.leaves(row('third'), 30)).toBeUndefined();
  });

  test('machines without a deployment have no successor', () => {
    const successors = new Successors();
    successors.leaves(row('a', { deployment: '' }), 0);
    expect(successors.created(row('b', { deployment: '' }), 1)).toBeUndefined();
  });
});
