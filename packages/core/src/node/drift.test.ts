import { Annotations, type Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, isConflict, type Node, nodes, type Taint, VirtualClock } from '@mcm/kube';
import { afterEach, describe, expect, test } from 'vitest';
import { machine, node } from '../machine/testing.ts';
import { applyNodeMetadata } from './apply-metadata.ts';
import { driftPoliciesOf, driftPolicyProblems } from './drift.ts';
import { type NodePatch, planNodeSync, warnedDrift } from './sync.ts';

const KEY = Annotations.DriftPolicy;
const RECORD = Annotations.LastAppliedNodeTemplate;

type Strings = Readonly<Record<string, string>>;

const withPolicy = (policy: string, labels: Strings, taints: readonly Taint[] = []): Machine =>
  machine({
    metadata: { name: 'm', annotations: { [KEY]: policy } },
    spec: { nodeTemplate: { metadata: { labels: { ...labels } }, spec: { taints: [...taints] } } },
  } as never);

const seen = (labels: Strings, last: Strings | undefined, taints: readonly Taint[] = [], lastTaints = taints): Node => {
  const made = node();
  const record = { metadata: { labels: last }, spec: { taints: lastTaints } };
  const annotations = last === undefined ? {} : { [RECORD]: JSON.stringify(record) };
  return { ...made, metadata: { ...made.metadata, labels: { ...labels }, annotations }, spec: { taints: [...taints] } };
};

const labelsOf = (patch: NodePatch | undefined) => ({
  main: Object.fromEntries(
    Object.entries(patch?.main?.metadata?.labels ?? {}).filter(([key]) => key.startsWith('team')),
  ),
  apply: patch?.apply?.labels,
});

describe('drift of a label', () => {
  test.each<[what: string, policy: string, current: Strings, last: Strings | undefined, main: object, apply?: object]>([
    ['Enforce writes the value again', 'labels/team=Enforce', { team: 'b' }, { team: 'a' }, { team: 'a' }],
    ['without a policy, mcm writes the value again', '', { team: 'b' }, { team: 'a' }, { team: 'a' }],
    ['Warn keeps a change', 'labels/team=Warn', { team: 'b' }, { team: 'a' }, {}],
    ['Warn keeps a removal', 'labels/team=Warn', {}, { team: 'a' }, {}],
    ['Warn keeps the value of another client on a new Node', 'labels/team=Warn', { team: 'b' }, undefined, {}],
    ['Warn writes the first value', 'labels/team=Warn', {}, undefined, { team: 'a' }],
    ['Warn writes a new value of the template', 'labels/team=Warn', { team: 'z' }, { team: 'z' }, { team: 'a' }],
    ['Yield keeps a change', 'labels/team=Yield', { team: 'b' }, { team: 'a' }, {}],
    ['Yield applies the first value', 'labels/team=Yield', {}, undefined, {}, { team: 'a' }],
    ['Yield applies a new value', 'labels/t*=Yield', { team: 'z' }, { team: 'z' }, {}, { team: 'a' }],
    ['the first matching entry applies', 'labels/team=Enforce, labels/*=Yield', {}, undefined, { team: 'a' }],
  ])('%s', (_what, policy, current, last, main, apply) => {
    const patch = planNodeSync(withPolicy(policy, { team: 'a' }), undefined, seen(current, last));
    expect(labelsOf(patch)).toEqual({ main, apply });
  });

  test.each(['Warn', 'Yield'])(
    'a label that the template no longer has is removed, unless it changed: %s',
    (policy) => {
      const plan = (value: string) =>
        planNodeSync(withPolicy(`labels/*=${policy}`, {}), undefined, seen({ team: value }, { team: 'a' }));
      expect(labelsOf(plan('a')).main).toEqual({ team: null });
      expect(labelsOf(plan('b')).main).toEqual({});
    },
  );

  test('an apply contains all unchanged values, and no changed value of another client', () => {
    const wanted = { team: 'a', teamB: 'x', teamC: 'y' };
    const current = { team: 'other', teamB: 'x' };
    const patch = planNodeSync(
      withPolicy('labels/*=Yield', wanted),
      undefined,
      seen(current, { team: 'a', teamB: 'x' }),
    );
    expect(patch?.apply?.labels).toEqual({ teamB: 'x', teamC: 'y' });
  });

  test('the name of the machine is always enforced', () => {
    const patch = planNodeSync(withPolicy('labels/*=Yield', {}), undefined, seen({}, {}));
    expect(patch?.main?.metadata?.labels).toMatchObject({ 'node.gardener.cloud/machine-name': 'm' });
  });

  test('Warn reports the changed keys, and other policies do not', () => {
    const drifted = (policy: string) =>
      warnedDrift(withPolicy(policy, { team: 'a' }), undefined, seen({ team: 'b' }, { team: 'a' }));
    expect([drifted('labels/team=Warn'), drifted('labels/team=Yield'), drifted('')]).toEqual([['labels/team'], [], []]);
  });
});

describe('drift of a taint', () => {
  const taint = (value: string): Taint => ({ key: 'team', value, effect: 'NoSchedule' });
  const plan = (policy: string, current: readonly Taint[]) =>
    planNodeSync(withPolicy(policy, {}, [taint('a')]), undefined, seen({}, {}, current, [taint('a')]))?.main?.spec
      ?.taints;

  test.each(['Warn', 'Yield'])('%s keeps a change and a removal', (policy) => {
    expect(plan(`taints/team=${policy}`, [taint('b')])).toBeUndefined();
    expect(plan(`taints/team=${policy}`, [])).toBeUndefined();
  });

  test('Enforce corrects a change', () => {
    expect(plan('taints/team=Enforce', [taint('b')])).toEqual([taint('a')]);
  });

  test('Warn reports a changed taint', () => {
    const one = withPolicy('taints/*=Warn', {}, [taint('a')]);
    expect(warnedDrift(one, undefined, seen({}, {}, [taint('b')], [taint('a')]))).toEqual(['taints/team']);
    expect(warnedDrift(one, undefined, seen({}, {}, [taint('a')], [taint('a')]))).toEqual([]);
  });
});

test.each(['labels/team', 'labels/team=Ignore', 'team=Yield', 'labels/t*m=Yield', 'labels/=Yield'])(
  'an invalid entry is reported and has no effect: %s',
  (entry) => {
    expect(driftPolicyProblems({ [KEY]: `labels/other=Yield,${entry}` })).toHaveLength(1);
    const policies = driftPoliciesOf(withPolicy(`labels/other=Yield,${entry}`, {}), undefined);
    expect([policies('labels', 'team'), policies('labels', 'other')]).toEqual(['Enforce', 'Yield']);
  },
);

test('the annotation of a machine takes precedence over its class', () => {
  const ofClass = { metadata: { name: 'c', annotations: { [KEY]: 'labels/team=Warn' } } } as never;
  expect(driftPoliciesOf(withPolicy('labels/team=Yield', {}), ofClass)('labels', 'team')).toBe('Yield');
  expect(driftPoliciesOf(machine({ metadata: { name: 'm' } }), ofClass)('labels', 'team')).toBe('Warn');
});

describe('server-side apply', () => {
  const cleanUp: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const clean of cleanUp.splice(0)) await clean();
  });

  async function world(labels: Strings, manager: string) {
    const plane = await startControlPlane({ clock: new VirtualClock(), controllers: false });
    cleanUp.push(() => plane.close());
    const clientOf = (userAgent: string) =>
      createClient({ transport: plane.transport, userAgent, clock: new VirtualClock() }).resource<Node>(nodes);
    const made = await clientOf(manager).create({ metadata: { name: 'n', labels }, spec: {} } as never);
    return { client: clientOf('machine-controller-local/1'), made };
  }

  test('a key of another client keeps its value, and the other keys are applied', async () => {
    const { client, made } = await world({ 'x.io/team': 'theirs', site: 'theirs' }, 'labeler/1');
    const applied = { labels: { 'x.io/team': 'a', site: 'b', tier: 'c' }, annotations: { note: 'd' } };
    const { node: result, yielded } = await applyNodeMetadata(client, made, applied);
    expect(yielded).toBe(2);
    expect(result?.metadata.labels).toMatchObject({ 'x.io/team': 'theirs', site: 'theirs', tier: 'c' });
    expect(result?.metadata.annotations).toMatchObject({ note: 'd' });
  });

  test('mcm sends no apply without a key', async () => {
    const { client, made } = await world({ team: 'theirs' }, 'labeler/1');
    const applied = { labels: { team: 'a' }, annotations: {} };
    expect(await applyNodeMetadata(client, made, applied)).toEqual({ node: undefined, yielded: 1 });
  });

  test('mcm changes a value that a machine controller wrote before', async () => {
    const { client, made } = await world({ team: 'old' }, 'machine-controller/1');
    const { node: result } = await applyNodeMetadata(client, made, { labels: { team: 'a' }, annotations: {} });
    expect(result?.metadata.labels).toMatchObject({ team: 'a' });
  });

  test('an apply neither creates a Node nor changes another Node of the same name', async () => {
    const { client, made } = await world({}, 'kubelet/1');
    const other = { ...made, metadata: { ...made.metadata, uid: 'another' } };
    const applied = { labels: { team: 'a' }, annotations: {} };
    const refusals = [await applyNodeMetadata(client, other, applied).catch((error: unknown) => error)];
    await client.delete('n');
    refusals.push(await applyNodeMetadata(client, made, applied).catch((error: unknown) => error));
    expect(refusals.map((error) => isConflict(error))).toEqual([true, true]);
    expect((await client.list()).items).toEqual([]);
  });
});
