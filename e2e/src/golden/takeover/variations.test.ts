import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sampled } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import { type Change, changing, type Raw, type RawState, widened } from './comparison/vary.ts';
import { type History, parseHistory } from './recordings/recording.ts';
import { sameContract } from './same-contract.ts';
import { takeOver } from './take-over.ts';

const dir = fileURLToPath(new URL('../../../testdata/takeover', import.meta.url));
const files = (await readdir(dir)).filter((name) => name.endsWith('.json')).sort();
const texts = new Map(
  await Promise.all(files.map(async (file) => [file, await readFile(`${dir}/${file}`, 'utf8')] as const)),
);

const renamed: Change = (text) =>
  text
    .replaceAll(/\bpool\b/g, 'shoot--a--workers')
    .replaceAll(/\bbench\b/g, 'garden')
    .replaceAll('6f576', 'z7w4x')
    .replaceAll('6c5df', '0a1b2')
    .replaceAll('"small"', '"m5.large"')
    .replaceAll('"large"', '"m5.xlarge"');

const thinned = changing((raw) => {
  const kept: RawState[] = [];
  let missed: RawState | undefined;
  for (const [index, state] of raw.states.entries()) {
    const merged = missed ? merge(missed, state) : state;
    const next = raw.states[index + 1];
    const isKept = index === 0 || !next || next.after !== state.after || state.after !== raw.states[index - 1]?.after;
    if (isKept || missed) kept.push(merged);
    missed = isKept || missed ? undefined : state;
  }
  raw.states = kept;
});

function merge(one: RawState, other: RawState): RawState {
  const keyOf = ({ kind, metadata }: RawState['changed'][number]): string => `${kind}/${metadata.name}`;
  const changed = new Map([...one.changed, ...other.changed].map((object) => [keyOf(object), object]));
  for (const key of other.gone) changed.delete(key);
  return { ...other, changed: [...changed.values()], gone: [...new Set([...one.gone, ...other.gone])] };
}

const doubled: Change = (text) => {
  const twin = JSON.parse(
    text
      .replaceAll(/\bpool\b/g, 'spare')
      .replaceAll(/("(?:uid)":\s*")[0-9a-f]/g, '$1z')
      .replaceAll(/\b(6f576|6c5df)\b/g, '$1'),
  ) as Raw;
  return changing((raw) => {
    for (const [index, state] of raw.states.entries()) {
      const isShared = (key: string): boolean => /^(MachineClass|Secret)\//.test(key);
      const own = twin.states[index];
      const mine = (own?.changed ?? []).filter(({ kind }) => !isShared(`${kind}/`));
      for (const object of mine) if (object.kind === 'Event') object.metadata.name = `twin-${object.metadata.name}`;
      state.changed.push(...mine);
      state.gone.push(...(own?.gone ?? []).filter((key) => !isShared(key)));
    }
  })(text);
};

const history = (file: string, change: Change): History => parseHistory(file, change(texts.get(file) ?? ''));

async function failuresOf(recording: History, takeOvers: readonly number[]): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const index of takeOvers) {
    const { failure, name } = await takeOver(recording, index);
    if (failure) failures.push(`${name}: ${failure}`);
  }
  for await (const { failure, name } of sameContract(recording)) if (failure) failures.push(`${name}: ${failure}`);
  return failures;
}

describe.each(sampled(files, 8, 4))('%s', (file) => {
  test.each<[string, Change]>([
    ['with other names, in another namespace', renamed],
    ['looked at less often', thinned],
  ])('%s: the results are the same', async (_what, change) => {
    const varied = history(file, change);
    const { length } = varied.states;
    expect(await failuresOf(varied, [Math.floor(length / 2)])).toEqual([]);
  });
});

test.each(['birth.json', 'roll.json', 'deployment-deleted.json', 'scale-up-and-down.json'])(
  '%s with a copy of the same deployment',
  async (file) => {
    const varied = history(file, doubled);
    expect(await failuresOf(varied, [Math.floor(varied.states.length / 2)])).toEqual([]);
  },
);

test.each([
  'birth.json',
  'create-unavailable.json',
  'deployment-deleted.json',
  'node-template-in-place.json',
  'slow-birth.json',
])('%s with twice as many machines', async (file) => {
  const varied = history(file, widened);
  expect(await failuresOf(varied, [varied.states.length - 1])).toEqual([]);
});

describe('a history that cannot be verified is a failure', () => {
  test('an action without a visible effect is an error', async () => {
    const varied = history(
      'birth.json',
      changing(({ states }) => {
        for (const state of states.slice(-1)) state.after = 'the manager was restarted';
      }),
    );
    expect(await failuresOf(varied, [1])).toEqual([
      expect.stringContaining('the recording contains "the manager was restarted"'),
      expect.stringContaining('unknown action'),
    ]);
  });

  test('an object of an unknown kind is an error', async () => {
    const varied = history(
      'birth.json',
      changing(({ states }) => {
        states[0]?.changed.push({ apiVersion: 'v1', kind: 'Toaster', metadata: { name: 'x', uid: 'x' } } as never);
      }),
    );
    const failures = await failuresOf(varied, [1]);
    expect(failures).toHaveLength(2);
    for (const failure of failures) expect(failure).toContain('an object of kind Toaster; known: ');
  });

  test('a file that is not a recording is refused', () => {
    expect(() => parseHistory('x.json', '{')).toThrow('x.json is not JSON');
    expect(() => parseHistory('x.json', '{"scenario":"x"}')).toThrow('x.json is not a recording of a take-over');
  });

  test('a history with a different end is a failure', async () => {
    const varied = history('birth.json', (text) => text.replaceAll('"NewMachineSetAvailable"', '"Done"'));
    expect(await failuresOf(varied, [4])).toEqual([
      expect.stringContaining('reason is NewMachineSetAvailable, not Done'),
      expect.stringContaining('reason is NewMachineSetAvailable, not Done'),
    ]);
  });
});
