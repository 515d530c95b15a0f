import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { ServiceAccountTokens } from '../../auth/authentication/service-account-tokens.ts';
import { createKey } from '../../certificates/authority.ts';
import { builtinKinds } from '../../kinds/index.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import { KindRegistry } from '../../resources/kind-registry.ts';
import { Registry } from '../../resources/registry.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { StillClock } from '../../testing.ts';
import { type Guard, GuardIndex } from './guard-index.ts';
import type { About } from './guard-words.ts';
import { compileSelector, nameMatches, namespacePasses, objectPasses, ruleMatches } from './match.ts';

const GUARDS = 'test/guards';

function setUp(delayMs = 0) {
  const clock = new StillClock();
  const store = new MemoryStore(clock);
  const kinds = new KindRegistry(builtinKinds);
  const tokens = new ServiceAccountTokens({ store, clock, random: () => 0.5 }, createKey);
  const authorize = () => ({ allowed: false, reason: '' });
  const registry = new Registry({ store, kinds, clock, random: () => 0.5, tokens, authorize });
  const make = ({ metadata, guards }: ApiObject): Guard<string>[] =>
    (guards as About[]).map((about, at) => ({ item: `${metadata.name} ${at}`, about }));
  return { clock, store, kinds, registry, index: new GuardIndex(registry, GUARDS, make, delayMs) };
}

const draft = (name: string, guards: readonly About[]) => ({
  namespace: '',
  name,
  render: () => JSON.stringify({ apiVersion: 'test/v1', kind: 'Guard', metadata: { name }, guards }),
});

const some = <T>(...values: T[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 2 });
const rule = fc.record(
  {
    operations: some('CREATE', 'UPDATE', '*'),
    apiGroups: some('', 'apps', '*'),
    apiVersions: some('v1', '*'),
    resources: some('pods', 'pods/status', 'deployments', 'nodes', 'namespaces', '*', '*/*', 'pods/*', '*/status'),
    resourceNames: fc.subarray(['a', 'b']),
    scope: fc.constantFrom('*', 'Namespaced', 'Cluster'),
  },
  { requiredKeys: ['operations', 'apiGroups', 'apiVersions', 'resources'] },
);
const expression = fc.oneof(
  fc.record({ key: fc.constantFrom('k', 'l'), operator: fc.constant('In'), values: some('1', '2') }),
  fc.record({ key: fc.constantFrom('k', 'l'), operator: fc.constant('NotIn'), values: some('1') }),
  fc.record({ key: fc.constantFrom('k', 'l'), operator: fc.constantFrom('Exists', 'DoesNotExist') }),
);
const selector = fc.record(
  {
    matchLabels: fc.dictionary(fc.constantFrom('k', 'l'), fc.constantFrom('1', '2', ''), { maxKeys: 2 }),
    matchExpressions: fc.array(expression, { maxLength: 2 }),
  },
  { requiredKeys: [] },
);
const about = fc.record(
  { rules: fc.array(rule, { maxLength: 2 }), namespaceSelector: selector, objectSelector: selector },
  { requiredKeys: ['rules'] },
);
const labels = fc.dictionary(fc.constantFrom('k', 'l'), fc.constantFrom('1', '2', ''), { maxKeys: 2 });
const request = fc.record({
  operation: fc.constantFrom('CREATE', 'UPDATE', 'DELETE'),
  kind: fc.constantFrom(['', 'pods'], ['apps', 'deployments'], ['', 'nodes'], ['', 'namespaces']),
  subresource: fc.constantFrom('', 'status', 'scale'),
  name: fc.constantFrom('a', 'b', 'c'),
  object: fc.option(labels, { nil: undefined }),
  old: fc.option(labels, { nil: undefined }),
  place: labels,
});
const step = fc.record({
  name: fc.constantFrom('g1', 'g2', 'g3', 'g4'),
  guards: fc.option(fc.array(about, { minLength: 1, maxLength: 2 }), { nil: undefined }),
});

const concerns = (registry: Registry, { rules, namespaceSelector, objectSelector }: About, of: AdmissionAttributes) =>
  (rules.length === 0 ||
    rules.some((one) => ruleMatches(one, of.served, of.subresource, of.operation) && nameMatches(one, of.name))) &&
  namespacePasses(compileSelector(namespaceSelector), registry, of) &&
  objectPasses(compileSelector(objectSelector), of);

describe('the index of guards', () => {
  it('finds every relevant guard, in order, after any changes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.array(request, { maxLength: 8 }), (steps, requests) => {
        const { store, kinds, registry, index } = setUp();
        const known = new Map<string, readonly About[]>();
        for (const { name, guards } of steps) {
          if (guards !== undefined) {
            store.put(GUARDS, draft(name, guards));
            known.set(name, guards);
          } else if (known.delete(name)) store.delete(GUARDS, draft(name, []));
        }
        const all = [...known]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .flatMap(([name, guards]) => guards.map((one, at) => ({ id: `${name} ${at}`, one })));
        for (const { operation, kind, subresource, name, object, old, place } of requests) {
          const [group = '', plural = ''] = kind;
          const served = kinds.find(group, 'v1', plural);
          if (served === undefined) throw new Error(plural);
          store.put('/namespaces', { namespace: '', name: 'n', labels: place, render: () => '{}' });
          const withLabels = (of: Record<string, string> | undefined) =>
            of === undefined ? undefined : ({ apiVersion: '', kind: '', metadata: { labels: of } } as ApiObject);
          const attributes: AdmissionAttributes = {
            operation: operation as AdmissionAttributes['operation'],
            served,
            namespace: served.kind.namespaced ? 'n' : '',
            name,
            subresource,
            object: withLabels(object),
            old: withLabels(old),
            user: { name: 'u', uid: '', groups: [], extra: {} },
            dryRun: false,
            warn: () => undefined,
          };
          const wanted = all.filter(({ one }) => concerns(registry, one, attributes)).map(({ id }) => id);
          const found = index.find(attributes);
          expect(found.filter((id) => wanted.includes(id))).toEqual(wanted);
        }
        expect(index.isEmpty).toBe(known.size === 0);
      }),
    );
  });

  it('the index of guards shows a change after its delay, also if the object changes twice before', async () => {
    const { clock, store, index } = setUp(100);
    const everything = [{ rules: [] }];
    store.put(GUARDS, draft('a', everything));
    store.delete(GUARDS, draft('a', everything));
    store.put(GUARDS, draft('b', everything));
    expect(index.isEmpty).toBe(true);
    await clock.advance(100);
    expect(index.isEmpty).toBe(false);
    store.delete(GUARDS, draft('b', everything));
    await clock.advance(100);
    expect(index.isEmpty).toBe(true);
  });
});
