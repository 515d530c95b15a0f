import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { sumOf } from '../common/counts.ts';
import type { Outcome } from '../common/set.ts';
import { machineConfig } from './index.ts';

const OWN_COPY = fileURLToPath(new URL('../../../testdata', import.meta.url));

async function outcomes(dir: string): Promise<readonly Outcome[]> {
  const all: Outcome[] = [];
  for await (const outcome of machineConfig.run(dir)) all.push(outcome);
  return all;
}

test('every recorded answer of the original equals ours, or differs by a named correction', async () => {
  const all = await outcomes(OWN_COPY);
  expect(all.filter(({ failure }) => failure !== undefined)).toEqual([]);
  expect(all.length).toBeGreaterThanOrEqual(1083);
  expect(sumOf(all.map(({ counts }) => counts))).toEqual({
    'results of functions': 1083,
    'results that need a correction': 110,
    'results that need the correction blame': 3,
    'results that need the correction bootPoolWithoutLabels': 1,
    'results that need the correction degradedTexts': 16,
    'results that need the correction exactNumbersOnly': 1,
    'results that need the correction extensionsAlways': 1,
    'results that need the correction hints': 6,
    'results that need the correction keyOrder': 1,
    'results that need the correction labelChanges': 1,
    'results that need the correction onlyErrors': 3,
    'results that need the correction reasonsOnly': 43,
    'results that need the correction refusedConfigs': 3,
    'results that need the correction refusedIsNamed': 4,
    'results that need the correction reportedOfPools': 2,
    'results that need the correction settings': 2,
    'results that need the correction sizeHint': 1,
    'results that need the correction suffixAnnotation': 13,
    'results that need the correction suffixPerPool': 2,
    'results that need the correction templatesWithoutForcedOverwrite': 1,
    'results that need the correction usersStay': 1,
    'results that need the correction wakeups': 5,
    'results that need the correction withoutBytes': 3,
    'results that need the correction withoutForcedOverwrite': 2,
    "texts with other words: Go's JSON decoder": 5,
    "texts with other words: Go's JSON decoder, in a report": 12,
    "texts with other words: Go's durations": 1,
    "texts with other words: Go's numbers": 1,
    "texts with other words: Go's numbers, in a percentage of a pool": 8,
    "texts with other words: Go's templates": 2,
    "texts with other words: Ignition's decoder of spec 2": 4,
    'texts with other words: gzip': 1,
    'texts with other words: the file system of templates': 1,
  });
});

test('the comparison fails for a wrong answer: a changed order, count, result or reason', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'golden-'));
  await mkdir(join(dir, 'machine-config'));
  const recorded = (fn: string, input: object, output: object) => ({ id: fn, fn, title: fn, tags: [], input, output });
  const cases = [
    recorded('validate', { spec: { kernelType: 'x' } }, { error: null }),
    recorded('validate', { spec: {} }, { error: 'kernelType=x is invalid' }),
    recorded('validate', { spec: { kernelType: 'x' } }, { error: 'kernelType=y is invalid' }),
    recorded('node-sort', { nodes: [] }, { order: ['a'] }),
  ];
  const file = { format: 1, set: 'wrong', source: 'made up', cases };
  await writeFile(join(dir, 'machine-config', 'wrong.json'), JSON.stringify(file));
  expect((await outcomes(dir)).map(({ failure }) => failure === undefined)).toEqual([false, false, false, false]);
});

test('a case that cannot be read, replayed or compared counts as one failure, and the next cases are replayed', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'golden-'));
  await mkdir(join(dir, 'machine-config'));
  const recorded = (fn: string, input: unknown, output: unknown) => ({
    id: fn,
    fn,
    title: fn,
    tags: [],
    input,
    output,
  });
  const cases = [
    'no case',
    recorded('unknown', {}, {}),
    recorded('node-sort', {}, {}),
    recorded('kc-sync', { steps: [{ sync: 'x' }] }, {}),
    recorded('validate', { spec: {} }, { error: null }),
  ];
  const file = { format: 1, set: 'wrong', source: 'made up', cases };
  await writeFile(join(dir, 'machine-config', 'wrong.json'), JSON.stringify(file));
  const all = await outcomes(dir);
  expect(all.map(({ failure }) => failure === undefined)).toEqual([false, false, false, false, true]);
  expect(all[0]).toMatchObject({
    name: 'wrong.json case 0',
    failure: expect.stringContaining('is not a recorded case'),
  });
  expect(all[2]?.failure).toContain('cannot replay this recorded case: ');
});
