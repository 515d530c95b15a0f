import { Annotations, type MachineSet } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { planRollout } from '../deployment/plan.ts';
import { surplusHistory } from '../deployment/rollout/history.ts';
import { normaliseTriggers, planTriggers } from '../deployment/scaling/trigger-deletion.ts';
import { newSet, syncedSet } from '../deployment/state/new-set.ts';
import { validateDeployment } from '../deployment/validation.ts';
import { nextHashStep } from '../deployment/writes/adopted-set.ts';
import { limitsOf } from '../objects/limits.ts';
import { deployment, machine, NOW, set } from '../set/test-objects.ts';
import { previousRevision, splitSets } from './revisions.ts';
import { hashSuffix, sameTemplate, templateHash } from './template-hash.ts';

const revision = (name: string, value: string, age = 60): MachineSet =>
  set(name, 0, { age, annotations: { [Annotations.Revision]: value } });

describe('template and hash', () => {
  test.each([
    ['2838572543', '6d7d9'],
    ['4187654321', '85dcb'],
    ['987', 'fdc'],
  ])('N-07 %s gives the suffix %s', (hash, suffix) => expect(hashSuffix(hash)).toBe(suffix));

  test('the hash ignores the order of keys and empty values, and changes with the collision count', () => {
    const { template } = deployment(1).spec;
    const shuffled = {
      spec: { nodeTemplate: {}, ...template.spec },
      metadata: { ...template.metadata, annotations: {} },
    };
    expect(templateHash(shuffled, undefined)).toBe(templateHash(template, undefined));
    expect(new Set([undefined, 0, 1, 2].map((count) => templateHash(template, count))).size).toBe(4);
    expect(templateHash(template, undefined)).toMatch(/^\d+$/);
  });

  const base = deployment(1).spec.template;
  test.each<[string, typeof base, boolean]>([
    ['N-15 class kind', { ...base, spec: { class: { ...base.spec.class, kind: 'Other' } } }, true],
    ['N-15 creation timeout', { ...base, spec: { ...base.spec, creationTimeout: '30m' } }, true],
    [
      'N-15 node template',
      { ...base, spec: { ...base.spec, nodeTemplate: { metadata: { labels: { a: 'b' } } } } },
      true,
    ],
    ['the hash label', { ...base, metadata: { labels: { app: 'pool', 'machine-template-hash': '1' } } }, true],
    [
      'empty metadata of typed clients',
      { ...base, metadata: { ...base.metadata, annotations: {}, creationTimestamp: null } as never },
      true,
    ],
    ['N-16 class name', { ...base, spec: { class: { ...base.spec.class, name: 'other' } } }, false],
    ['N-16 annotation', { ...base, metadata: { ...base.metadata, annotations: { a: 'b' } } }, false],
    ['N-16 label', { ...base, metadata: { labels: { app: 'pool', a: 'b' } } }, false],
    ['API group', { ...base, spec: { class: { ...base.spec.class, apiGroup: 'x' } } }, false],
  ])('%s: same machines: %s', (_what, other, same) => {
    expect(sameTemplate(base, other)).toBe(same);
    expect(sameTemplate(other, base)).toBe(same);
  });
});

describe('revisions', () => {
  test.each([
    ['N-11', '3', ['1', '2'], 2],
    ['N-11 two equal revisions', '3', ['3'], 3],
    ['N-11 only one', '5', [], 0],
    ['invalid revisions are ignored', '7', ['abc', '2'], 2],
    ['the template has no set', undefined, ['1', '2'], 2],
    ['the controller has not raised the current revision yet', '1', ['2'], 2],
  ])('%s: before %s, the last of %s is %s', (_title, current, values, last) => {
    const old = values.map((value, i) => {
      const { spec, ...rest } = revision(`s${i}`, value);
      return { ...rest, spec: { ...spec, template: set('s', 0, { className: `former-${i}` }).spec.template } };
    });
    expect(previousRevision({ current: current === undefined ? undefined : revision('new', current), old })).toBe(last);
  });

  test('an older set with the template of the deployment is not the previous revision', () => {
    expect(previousRevision({ current: revision('new', '3'), old: [revision('same', '2')] })).toBe(0);
  });

  test('of two sets with the template the older is the current one [N-17]', () => {
    const { current, old } = splitSets(deployment(1), [set('young', 0, { age: 60 }), set('old', 0, { age: 120 })]);
    expect([current?.metadata.name, old.map((s) => s.metadata.name)]).toEqual(['old', ['young']]);
  });

  test('an annotation alone adds nothing to the history [N-13, BUG-2 corrected]', () => {
    const annotated = deployment(1, { annotations: { foo: 'bar', [Annotations.TriggerDeletion]: 'x' } });
    const synced = syncedSet(annotated, revision('s', '2'), 2);
    expect(synced.metadata.annotations).toEqual({ foo: 'bar', [Annotations.Revision]: '2' });
  });

  test('the revision rises, and the former one is remembered [N-04]', () => {
    expect(syncedSet(deployment(1), revision('s', '2'), 5).metadata.annotations).toEqual({
      [Annotations.Revision]: '5',
      [Annotations.RevisionHistory]: '2',
    });
    expect(syncedSet(deployment(1), set('s', 0), 2).metadata.annotations).toEqual({ [Annotations.Revision]: '2' });
    const rubbish = revision('s', 'abc');
    expect(syncedSet(deployment(1), rubbish, 5)).toBe(rubbish);
  });

  test('without a difference the same object is returned: no write', () => {
    const stored = revision('s', '1');
    expect(syncedSet(deployment(1), stored, 1)).toBe(stored);
  });

  test('the first set of an in-place deployment [N-21]', () => {
    const inPlace = deployment(3, {
      strategy: { type: 'InPlaceUpdate', inPlaceUpdate: { maxSurge: 1, maxUnavailable: 0, orchestrationType: 'Auto' } },
    });
    const plan = planRollout({ deployment: inPlace, sets: [], machines: new Map(), creating: () => 0, now: NOW });
    expect(plan.create?.spec.replicas).toBe(3);
    expect(plan.create?.metadata.annotations).toMatchObject({
      [Annotations.DesiredReplicas]: '3',
      [Annotations.MaxReplicas]: '3',
    });
  });

  test('the new set gets the surge once [R-10, BUG-4 corrected]', () => {
    const old = {
      ...set('old', 5),
      spec: {
        ...set('old', 5).spec,
        template: { ...set('old', 5).spec.template, spec: { class: { kind: 'MachineClass', name: 'former' } } },
      },
    };
    const plan = planRollout({
      deployment: deployment(5),
      sets: [old],
      machines: new Map(),
      creating: () => 0,
      now: NOW,
    });
    expect(plan.create?.spec.replicas).toBe(1);
  });

  test('a new set is created with its finalizer, owner and hash', () => {
    const draft = newSet(deployment(2), { replicas: 2, revision: 1, limits: limitsOf(deployment(2)) });
    const hash = draft.metadata.labels?.['machine-template-hash'];
    expect(draft.spec.selector.matchLabels).toEqual({ app: 'pool', 'machine-template-hash': hash });
    expect(draft.spec.template.metadata?.labels).toEqual(draft.metadata.labels);
    expect(draft.metadata.name).toBe(`pool-${hashSuffix(hash ?? '')}`);
    expect(draft.metadata).toMatchObject({
      finalizers: ['machine.sapcloud.io/machine-controller-manager'],
      ownerReferences: [{ kind: 'MachineDeployment', name: 'pool', controller: true, blockOwnerDeletion: true }],
    });
  });
});

describe('history', () => {
  const empty = (name: string, age: number): MachineSet => ({
    ...set(name, 0, { age }),
    status: { replicas: 0, observedGeneration: 1 },
  });
  const names = (sets: readonly MachineSet[]) => sets.map((s) => s.metadata.name);
  test('a set with machines is skipped [N-18, ODD-15]', () => {
    const b = { ...empty('b', 5), status: { replicas: 1, observedGeneration: 1 } };
    expect(names(surplusHistory([empty('a', 9), b], () => 0, 0))).toEqual(['a']);
    expect(names(surplusHistory([empty('a', 9), empty('b', 5)], (s) => (s.metadata.name === 'b' ? 1 : 0), 0))).toEqual([
      'a',
    ]);
  });
  test('the oldest are deleted, and none without a limit [N-19]', () => {
    const three = [empty('c', 1), empty('a', 9), empty('b', 5)];
    expect(names(surplusHistory(three, () => 0, 1))).toEqual(['a', 'b']);
    expect(surplusHistory(three, () => 0, undefined)).toEqual([]);
  });
});

describe('adopted sets', () => {
  test('get their hash in three steps, the selector last, so that no machine is lost', () => {
    const foreign: MachineSet = {
      ...set('foreign', 1),
      spec: {
        ...set('foreign', 1).spec,
        selector: { matchLabels: { app: 'pool' } },
        template: deployment(1).spec.template,
      },
    };
    const mine = machine('m', { phase: 'Running' });
    const first = nextHashStep(deployment(1), foreign, [mine]);
    if (first?.kind !== 'writeSet') throw new Error('the template comes first');
    expect(first.set.spec.selector.matchLabels).toEqual({ app: 'pool' });
    const second = nextHashStep(deployment(1), first.set, [mine]);
    if (second?.kind !== 'labelMachines') throw new Error('then the machines');
    const labelled = machine('m', { phase: 'Running', labels: { 'machine-template-hash': second.hash } });
    const third = nextHashStep(deployment(1), first.set, [labelled]);
    if (third?.kind !== 'writeSet') throw new Error('then the selector');
    expect(third.set.spec.selector.matchLabels).toEqual({ app: 'pool', 'machine-template-hash': second.hash });
    expect(nextHashStep(deployment(1), third.set, [labelled])).toBeUndefined();
  });
});

describe('trigger deletion', () => {
  const LIST = Annotations.TriggerDeletion;
  const TIME = Annotations.LastReplicaChangeByScaler;
  const T = '2026-01-01T11:00:00Z';
  const given = (list: string, time?: string) =>
    deployment(2, { annotations: { [LIST]: list, ...(time ? { [TIME]: time } : {}) } });
  const cache = (...machines: ReturnType<typeof machine>[]) => new Map(machines.map((m) => [m.metadata.name, m]));

  test('entries without a time get one, those with two are dropped [T-06]', () => {
    expect(normaliseTriggers('M1,M2~T2,A~B~C', 'L')).toEqual([
      { name: 'M1', time: 'L' },
      { name: 'M2', time: 'T2' },
    ]);
  });
  test('the added time is written with the list [T-05, ODD-8 corrected]', () => {
    expect(planTriggers(given('m'), cache(machine('m')), NOW).annotations).toEqual({
      [LIST]: 'm~2026-01-01T12:00:00Z',
      [TIME]: '2026-01-01T12:00:00Z',
    });
  });
  test('the annotation trigger-deletion marks both of its machines [T-01]', () => {
    const plan = planTriggers(given(`a~${T},b~${T}`, T), cache(machine('a'), machine('b')), NOW);
    expect(plan.annotations).toEqual({});
    expect(plan.marks.map((mark) => [mark.machine.metadata.name, mark.annotations])).toEqual(
      ['a', 'b'].map((name) => [name, { [Annotations.Priority]: '1', [Annotations.MarkedForDeletionTime]: T }]),
    );
  });
  test.each([
    ['T-07 no time', 'm~yesterday', cache(machine('m'))],
    ['T-07 gone', `gone~${T}`, cache()],
    ['T-08 failed', `m~${T}`, cache(machine('m', { phase: 'Failed' }))],
    ['deleting', `m~${T}`, cache(machine('m', { deleting: true }))],
    ['ODD-14 a machine of another deployment', `foreign~${T}`, cache(machine('m'))],
  ])('%s: the name is dropped from the list, and the empty annotation is removed', (_title, list, machines) => {
    expect(planTriggers(given(list, T), machines, NOW)).toMatchObject({ annotations: { [LIST]: null }, marks: [] });
  });
  test('a mark does not change, and a marked machine is not written [T-09, T-10]', () => {
    const half = machine('m', { marked: -90 });
    expect(planTriggers(given(`m~${T}`, T), cache(half), NOW).marks.map((mark) => mark.annotations)).toEqual([
      { [Annotations.Priority]: '1' },
    ]);
    expect(planTriggers(given(`m~${T}`, T), cache(machine('m', { marked: -90, priority: '1' })), NOW).marks).toEqual(
      [],
    );
  });
});

describe('validation', () => {
  const fields = (spec: object) =>
    validateDeployment({ ...deployment(1), spec: { ...deployment(1).spec, ...spec } } as never).map(
      ({ field }) => field,
    );
  test.each<[string, object, string[]]>([
    ['X-01 a valid deployment', {}, []],
    [
      'X-02 selector and template differ',
      { selector: { matchLabels: { app: 'other' } } },
      ['spec.selector.matchLabels'],
    ],
    [
      'X-02 class kind',
      { template: { metadata: { labels: { app: 'pool' } }, spec: { class: { kind: '', name: 'x' } } } },
      ['spec.template.spec.class.kind'],
    ],
    [
      'X-02 class name',
      { template: { metadata: { labels: { app: 'pool' } }, spec: { class: { kind: 'x', name: '' } } } },
      ['spec.template.spec.class.name'],
    ],
    [
      'X-05 surge missing',
      { strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } } },
      ['spec.strategy.rollingUpdate.maxSurge'],
    ],
    [
      'X-05 unavailable missing',
      { strategy: { type: 'InPlaceUpdate', inPlaceUpdate: { maxSurge: 1, orchestrationType: 'Auto' } } },
      ['spec.strategy.inPlaceUpdate.maxUnavailable'],
    ],
    [
      'X-07 no percent sign',
      { strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: '10' } } },
      ['spec.strategy.rollingUpdate.maxSurge'],
    ],
    ['no block', { strategy: { type: 'RollingUpdate' } }, ['spec.strategy.rollingUpdate']],
    ['R-05 unknown strategy', { strategy: { type: 'Dummy' } }, ['spec.strategy.type']],
    [
      'orchestration',
      {
        strategy: { type: 'InPlaceUpdate', inPlaceUpdate: { maxSurge: 1, maxUnavailable: 1, orchestrationType: 'X' } },
      },
      ['spec.strategy.inPlaceUpdate.orchestrationType'],
    ],
    ['R-18 negative replicas', { replicas: -1 }, ['spec.replicas']],
    ['BUG-15 no selector', { selector: undefined }, ['spec.selector']],
    [
      'an unknown operator',
      { selector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } },
      ['spec.selector.matchExpressions'],
    ],
  ])('%s', (_title, spec, want) => expect(fields(spec)).toEqual(want));
});
