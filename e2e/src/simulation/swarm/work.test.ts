import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DEFECTS } from '../machines/defects.ts';
import { playMachines } from '../machines/machine-history.ts';
import { readReplay, writeReplay } from './replay.ts';
import { verify } from './work.ts';

const SEED = 15;

test('a failing history is shrunk, written, read and repeated exactly', async () => {
  const play = (options: { seed: number }) => playMachines({ ...options, defect: DEFECTS.deletesBudgets() });
  const one = { suite: 'machines', seed: SEED };
  const before = await play(one);
  expect(before.violations.length).toBeGreaterThan(0);
  const { failure } = await verify(one, play, 4);
  if (!failure) throw new Error('no failure');
  expect(failure.one.plan?.steps.length).toBeLessThan(before.plan.steps.length);
  const folder = mkdtempSync(join(tmpdir(), 'replay-'));
  const read = readReplay(writeReplay(folder, failure));
  expect(read).toEqual(failure);
  const [first, second] = [await play(read.one), await play(read.one)];
  expect(first.violations).toEqual(failure.violations);
  expect(second.history).toBe(first.history);
  writeFileSync(join(folder, 'bad.json'), '{"suite":"machines","seed":"x"}');
  expect(() => readReplay(join(folder, 'bad.json'))).toThrow(/bad\.json is not a replay file/);
  rmSync(folder, { recursive: true });
});

test('without shrinking, a history ends at its first violation', async () => {
  const play = (options: Parameters<typeof playMachines>[0]) =>
    playMachines({ ...options, defect: DEFECTS.deletesBudgets() });
  const one = { suite: 'machines', seed: SEED };
  const { violations } = await play(one);
  const { failure } = await verify(one, play, 0);
  const seen = failure?.violations.length ?? 0;
  expect(seen).toBeLessThan(violations.length);
  expect(failure).toEqual({ one, violations: violations.slice(0, Math.max(seen, 1)) });
});
