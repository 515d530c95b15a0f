import { fileURLToPath } from 'node:url';
import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { readReplay } from '../swarm/replay.ts';
import { DEFECTS } from './defects.ts';
import { playMachines } from './machine-history.ts';

/** The recorded actions of a history in which a machine changed between Running and Unknown without a pause. */
const FLAPPING = fileURLToPath(new URL('../../../testdata/simulation/machines-900066.json', import.meta.url));

test('the same seed gives exactly the same history', async () => {
  for (const seed of sampled([7, 8, 9], 3, 3)) {
    const [first, second] = [await playMachines({ seed }), await playMachines({ seed })];
    expect(first.history.length).toBeGreaterThan(10_000);
    expect(second.history).toBe(first.history);
  }
});

test('a plan repeats the history, and a part of it repeats its acts', async () => {
  const seed = 8;
  const first = await playMachines({ seed });
  const { plan } = first;
  expect(plan.steps.length).toBeGreaterThan(1);
  expect((await playMachines({ seed, plan })).history).toBe(first.history);
  const part = { ...plan, steps: plan.steps.slice(1) };
  const second = await playMachines({ seed, plan: part });
  expect(second.plan).toEqual(part);
  expect(second.history).not.toBe(first.history);
});

test('a controller that writes without end ends its history with a violation that names the object', async () => {
  const { violations } = await playMachines({ seed: 1, defect: DEFECTS.flipFlop() });
  expect(violations[0]).toMatch(
    /^the controllers do not become idle: the controllers wrote machines\/m1 200 times within a minute$/,
  );
});

test('the profile hostile gives exactly the same history again, and another one than without faults', async () => {
  const [first, second] = [
    await playMachines({ seed: 2, profile: 'hostile' }),
    await playMachines({ seed: 2, profile: 'hostile' }),
  ];
  expect(first.violations, first.story).toEqual([]);
  expect(second.history).toBe(first.history);
});

test('a VM that joins after its Machine was lost is drained without a violation', async () => {
  const acts = [
    { act: 'lose machine', pauseMs: 4_133, drawn: 6 },
    { act: 'expire', pauseMs: 18_396, drawn: 9 },
    { act: 'create', pauseMs: 457, drawn: 11 },
    { act: 'create', pauseMs: 14_170, drawn: 13 },
    { act: 'kill', pauseMs: 16_274, drawn: 15 },
    { act: 'delete', pauseMs: 1_052, drawn: 17 },
    { act: 'delete', pauseMs: 3_819, drawn: 20 },
  ];
  const plan = { steps: acts, lastPauseMs: 16_216, drawn: 22 };
  const { violations, story } = await playMachines({ seed: 112, profile: 'slow', plan });
  expect(violations, story).toEqual([]);
  expect(story).toContain('create pods/eviction/app0-0 201');
});

test('two controllers stop writing conflicting values when one of them has a stale cache of Nodes', async () => {
  const { violations, story, faults } = await playMachines(readReplay(FLAPPING).one);
  expect(violations, story).toEqual([]);
  expect([faults['watches stop delivering'], faults['two machine controllers run at the same time']]).toEqual([1, 1]);
  expect(story).toContain('Running → Unknown');
});

test('after a compaction, the caches of the controller list their objects again', async () => {
  const plan = { steps: [{ act: 'expire', pauseMs: 1_000, drawn: 0 }], lastPauseMs: 5_000, drawn: 0 };
  const { history, violations } = await playMachines({ seed: 7, plan });
  const lines = (JSON.parse(history) as readonly { readonly text: string }[]).map(({ text }) => text);
  const start = lines.indexOf('the API server compacts its history and ends watches');
  const after = lines.slice(start, lines.indexOf('machine-controller list pods 200', start) + 20);
  expect(start).toBeGreaterThan(0);
  expect(after.filter((text) => text === 'machine-controller list pods 200')).toHaveLength(2);
  expect(violations).toEqual([]);
});
