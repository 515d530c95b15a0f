import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Outcome } from './common/set.ts';
import { findSets } from './sets.ts';

/** A recording that the tool cannot handle is a failed case, and the tool checks the other recordings. */

const OWN_COPY = fileURLToPath(new URL('../../testdata', import.meta.url));

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'malformed-'));
});
afterEach(() => rm(dir, { recursive: true }));

async function run(set: string): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const one of findSets([set])) for await (const outcome of one.run(dir)) outcomes.push(outcome);
  return outcomes;
}

async function write(folder: string, file: string, content: unknown): Promise<void> {
  await mkdir(join(dir, folder), { recursive: true });
  await writeFile(join(dir, folder, file), typeof content === 'string' ? content : JSON.stringify(content));
}

/** Returns for each outcome whether the check has failed. */
const failedIn = (outcomes: readonly Outcome[]): readonly boolean[] =>
  outcomes.map(({ failure }) => failure !== undefined);

type Case = Readonly<Record<string, unknown>>;

const GOOD_CASES = { aws: ['delete.json', 0], azure: ['lookup.json', 0], gcp: ['lookup.json', 0] } as const;

test.each(['aws', 'azure', 'gcp'] as const)('drivers: each malformed case of %s fails alone', async (cloud) => {
  const [file, index] = GOOD_CASES[cloud];
  const { cases } = JSON.parse(await readFile(join(OWN_COPY, 'drivers', cloud, file), 'utf8')) as {
    readonly cases: readonly Case[];
  };
  const good = cases[index] as Case;
  const call = { method: 'ListMachines', requests: [], result: { response: null, errorCode: 'Aborted' } };
  const { steps: _steps, ...single } = good;
  const malformed: readonly unknown[] = [
    null,
    7,
    [],
    { title: 'a case without a name' },
    { ...good, title: 7 },
    { ...single, ...call, method: 'MigrateMachine' },
    { ...single, method: undefined, result: undefined },
    { ...single, ...call, cloud: 'none' },
    { ...single, ...call, requests: [{ method: 7 }] },
    { ...single, ...call, providerSpecRaw: '{"a":', result: { response: {}, errorCode: null } },
    { ...single, ...call, secret: 'none' },
    { ...good, steps: [{ method: 'ListMachines' }] },
    { ...single, ...call, pvSpecs: 'none' },
    { ...single, ...call, machine: null },
  ];
  const named = malformed.map((each, i) =>
    typeof each === 'object' && each !== null && 'name' in each ? { ...each, name: `malformed-${i}` } : each,
  );
  await write(`golden/drivers/${cloud}`, 'a.json', { format: 1, cases: [...named, good] });
  await write(`golden/drivers/${cloud}`, 'b.json', 'no JSON');
  const outcomes = await run(`drivers/${cloud}`);
  expect(failedIn(outcomes)).toEqual([...malformed.map(() => true), false, true]);
});

test('machine configs: each malformed case fails alone', async () => {
  const of = (fn: string, input: unknown, output: unknown = {}) => ({ id: fn, fn, title: fn, tags: [], input, output });
  const malformed = [
    null,
    'text',
    of('unknown', {}),
    of('constructor', {}),
    of('validate', 7),
    { ...of('validate', {}), tags: 'none' },
    of('node-sort', { nodes: 7 }),
    of('kc-sync', { steps: [{ sync: 'x' }] }),
    of('render', {}),
    of('merge', { configs: [null] }, { order: ['a'] }),
    of('render-sync', { pools: [{}], machineConfigs: [], steps: [{ sync: 'x' }] }),
    of('node-status', { pool: null, nodes: [] }),
    of('kc-files', { baseYAML: 7, kubeletConfig: {} }, { files: [] }),
  ];
  const good = of('validate', { spec: {} }, { error: null });
  const file = { format: 1, set: 'malformed', source: 'made up' };
  await write('golden/machine-config', 'a.json', { ...file, cases: [...malformed, good] });
  await write('golden/machine-config', 'b.json', '{');
  await write('golden/machine-config', 'c.json', { ...file, format: 2, cases: [] });
  const outcomes = await run('machine-config');
  expect(failedIn(outcomes)).toEqual([...malformed.map(() => true), false, true, true]);
});

const PROGRAM = 'machine-controller-manager';

test.each([
  ['mcm/flags', 'flags.json', 'v', { type: 'Level', default: '0' }],
  ['mcm/metrics', 'metrics.json', 'mcm_machine_set_status_replicas', { type: 'gauge', labels: ['name', 'namespace'] }],
])('%s: each malformed entry fails alone', async (set, file, name, good) => {
  const malformed: Readonly<Record<string, unknown>> = {
    a: null,
    b: 7,
    c: [],
    d: {},
    e: { type: 7, default: null, labels: [] },
    f: { type: 'bool', default: 7, labels: 'none' },
    g: { type: 'gauge', labels: [7] },
    constructor: good,
    toString: good,
    unknown: good,
  };
  const programs = { other: { [name]: good }, toString: { [name]: good }, [PROGRAM]: { ...malformed, [name]: good } };
  await write('golden/mcm', file, programs);
  const outcomes = await run(set);
  expect(failedIn(outcomes)).toEqual([true, true, ...Object.keys(malformed).map(() => true), false]);
  for (const text of ['{', '[]', '{"a":7}']) {
    await write('golden/mcm', file, text);
    expect(failedIn(await run(set)), text).toEqual([true]);
  }
});

interface RawHistory {
  scenario: string;
  states: { at: number; after: string; changed: Record<string, unknown>[]; gone: string[] }[];
}

test('take-over: each malformed history fails alone', async () => {
  const text = await readFile(join(OWN_COPY, 'takeover', 'birth.json'), 'utf8');
  const changed = (change: (raw: RawHistory) => void): RawHistory => {
    const raw = JSON.parse(text) as RawHistory;
    raw.states.splice(2);
    change(raw);
    return raw;
  };
  const first = (raw: RawHistory, kind: string): Record<string, unknown> =>
    raw.states.flatMap((state) => state.changed).find((object) => object.kind === kind) ?? {};
  const metadataOf = (raw: RawHistory, kind: string) => first(raw, kind).metadata as Record<string, unknown>;
  const unreadable: readonly unknown[] = [
    '{',
    { scenario: 'x' },
    changed((raw) => raw.states.splice(0)),
    changed(({ states }) => states.push({ at: 1e12, after: 'x', changed: [], gone: [] })),
    changed(({ states }) => states.push({ at: -1, after: 'x', changed: [], gone: [] })),
    changed((raw) => Object.assign(metadataOf(raw, 'Machine'), { uid: '' })),
    changed((raw) => Object.assign(metadataOf(raw, 'Machine'), { creationTimestamp: 'yesterday' })),
    changed((raw) => Object.assign(metadataOf(raw, 'Machine'), { ownerReferences: [7] })),
    changed((raw) => Object.assign(metadataOf(raw, 'Machine'), { namespace: 'another' })),
    changed((raw) => Object.assign(metadataOf(raw, 'Machine'), { labels: ['a'] })),
  ];
  const unplayable: readonly RawHistory[] = [
    changed((raw) => Object.assign(first(raw, 'Secret'), { kind: 'Toaster' })),
    changed((raw) => Object.assign(first(raw, 'MachineDeployment'), { spec: 7 })),
    changed((raw) =>
      Object.assign(first(raw, 'MachineClass'), { metadata: { ...metadataOf(raw, 'MachineClass'), name: 'No Name' } }),
    ),
    changed((raw) => Object.assign(first(raw, 'Machine'), { status: { conditions: 'none' } })),
  ];
  const files = [...unreadable, ...unplayable];
  for (const [index, file] of files.entries()) await write('takeover', `${String(index).padStart(2, '0')}.json`, file);
  await cp(join(OWN_COPY, 'takeover', 'birth.json'), join(dir, 'takeover', 'good.json'));
  const outcomes = await run('takeover');
  const failures = outcomes.filter(({ failure }) => failure !== undefined);
  for (const [index] of unreadable.entries()) {
    const file = `${String(index).padStart(2, '0')}.json`;
    expect(
      failures.filter(({ name }) => name.includes(file)),
      file,
    ).toHaveLength(1);
  }
  for (const [index] of unplayable.entries()) {
    const file = `${unreadable.length + index}.json`;
    expect(
      failures.some(({ name }) => name.includes(file)),
      file,
    ).toBe(true);
  }
  expect(failures.filter(({ name }) => name.includes('good.json'))).toEqual([]);
  expect(outcomes.some(({ name }) => name.includes('good.json'))).toBe(true);
});
