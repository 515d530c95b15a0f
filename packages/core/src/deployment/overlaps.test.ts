import { crds, type MachineDeployment, machineDeployments } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { type Change, keyOf } from '@mcm/kube';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { overlapping } from '../admission/handlers.ts';
import { deployment } from '../set/test-objects.ts';
import { SelectorOverlaps } from './overlaps.ts';
import { NAMESPACE, World } from './testing/world.ts';

class Reported {
  readonly #objects = new Map<string, MachineDeployment>();
  #hear: (change: Change<MachineDeployment>) => void = () => undefined;
  #generation = 1;
  onChange(hear: (change: Change<MachineDeployment>) => void): () => void {
    this.#hear = hear;
    return () => {
      this.#hear = () => undefined;
    };
  }
  tell(object: MachineDeployment): void {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    const newer = { ...object, metadata: { ...object.metadata, generation: this.#generation++ } };
    this.#objects.set(key, newer);
    this.#hear(old ? { type: 'updated', key, object: newer, old } : { type: 'added', key, object: newer });
  }
  lose(name: string): void {
    const key = `test/${name}`;
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    this.#hear({ type: 'deleted', key, object });
  }
  all = (): readonly MachineDeployment[] => [...this.#objects.values()];
}

const named = (
  name: string,
  matchLabels: Record<string, string>,
  labels: Record<string, string>,
  expressions: readonly string[] = [],
): MachineDeployment => {
  const base = deployment(1);
  const matchExpressions = expressions.map((key) => ({ key, operator: 'Exists' as const }));
  return {
    ...base,
    metadata: { ...base.metadata, name, uid: name },
    spec: {
      ...base.spec,
      selector: { matchLabels, ...(matchExpressions.length > 0 ? { matchExpressions } : {}) },
      template: { ...base.spec.template, metadata: { labels } },
    },
  };
};

const labels = fc.dictionary(fc.constantFrom('app', 'role', 'zone'), fc.constantFrom('a', 'b', 'c'));
const act = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(
      fc.constantFrom('m', 'n', 'o', 'p', 'q'),
      labels,
      labels,
      fc.array(fc.constantFrom('zone', 'role'), { maxLength: 1 }),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('m', 'n', 'o', 'p', 'q') },
);

test('after any changes the index finds the same pairs as a full comparison, and reports every gained or lost pair', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 25 }), (acts) => {
      const reported = new Reported();
      const changed = new Set<string>();
      const overlaps = new SelectorOverlaps(reported, (key) => changed.add(key));
      const pairs = () => new Map(reported.all().map((one) => [keyOf(one), overlapping(one, reported.all()).join()]));
      let before = pairs();
      for (const one of acts) {
        changed.clear();
        if (typeof one === 'string') reported.lose(one);
        else reported.tell(named(...one));
        const now = pairs();
        for (const [key, names] of now) {
          expect([
            key,
            overlaps
              .of(key)
              .map((other) => other.slice('test/'.length))
              .sort()
              .join(),
          ]).toEqual([key, names]);
          if ((before.get(key) ?? '') !== names) expect([...changed]).toContain(key);
        }
        before = now;
      }
    }),
    { numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? 300), endOnFailure: true },
  );
});

test('each of a thousand deployments that share a label is compared only with a few others', () => {
  const reported = new Reported();
  let looks = 0;
  const counted = (object: MachineDeployment) =>
    new Proxy(object, {
      get: (target, field) => {
        if (field === 'metadata') looks++;
        return target[field as keyof MachineDeployment];
      },
      ownKeys: (target) => Reflect.ownKeys(target),
    });
  const changed: string[] = [];
  const overlaps = new SelectorOverlaps(
    {
      onChange: (hear: (change: Change<MachineDeployment>) => void) =>
        reported.onChange((change) => hear({ ...change, object: counted(change.object) } as Change<MachineDeployment>)),
    },
    (key) => changed.push(key),
  );
  const labelled = (i: number) => ({ role: 'node', app: `a${i}` });
  for (let i = 0; i < 1_000; i++) reported.tell(named(`d${i}`, labelled(i), labelled(i)));
  expect(looks).toBeLessThan(10_000);
  expect([changed, overlaps.of('test/d7')]).toEqual([[], []]);
});

/** CRDs without validation, so that the API server accepts every object. */
const OPEN = crds.map(({ spec, ...crd }) => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } as const;
  return { ...crd, spec: { ...spec, versions: spec.versions.map((version) => ({ ...version, schema })) } };
});

test('a malformed deployment overlaps with no other one until it is corrected', async () => {
  await using world = await World.start(({ crds: _strict, ...options }) =>
    startControlPlane({ ...options, crds: OPEN }),
  );
  await world.deploy(1, {}, { name: 'older' });
  const resource = world.keeper.resource(machineDeployments, NAMESPACE);
  await resource.patch('older', { type: 'merge', body: { spec: { minReadySeconds: 'soon' } } });
  await world.pass(60);
  await world.deploy(2);
  await world.pass(60);
  const sizeOf = async (name: string): Promise<number> =>
    (await world.machines()).filter((machine) => machine.metadata.name.startsWith(`${name}-`)).length;
  expect(await sizeOf('pool')).toBe(2);
  const conditions = (await resource.get('pool')).status?.conditions ?? [];
  expect(conditions.map(({ type }) => type)).not.toContain('InvalidSpec');
  await resource.patch('older', { type: 'merge', body: { spec: { minReadySeconds: 1 } } });
  await world.pass(60);
  const reported = (await resource.get('pool')).status?.conditions?.find(({ type }) => type === 'InvalidSpec');
  expect(reported).toMatchObject({ reason: 'SelectorOverlaps' });
});
