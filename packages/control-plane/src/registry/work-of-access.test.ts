import { afterEach, expect, test, vi } from 'vitest';
import { versionNamed } from '../admission/matching/match.ts';
import { ruleAllows } from '../auth/rbac/rules.ts';
import { TestPlane } from '../controllers/testing.ts';
import { Registry } from '../resources/registry.ts';
import { startTestPlane } from '../testing.ts';

vi.mock(import('../admission/matching/match.ts'), async (original) => {
  const match = await original();
  return {
    ...match,
    versionNamed: vi.fn(match.versionNamed),
    namespacePasses: vi.fn(match.namespacePasses),
    objectPasses: vi.fn(match.objectPasses),
  };
});
vi.mock(import('../auth/rbac/rules.ts'), async (original) => {
  const rules = await original();
  return { ...rules, ruleAllows: vi.fn(rules.ruleAllows) };
});
vi.mock(import('../admission/webhook/hook.ts'), async (original) => {
  const hook = await original();
  return { ...hook, hooksOf: vi.fn(hook.hooksOf) };
});
const { namespacePasses, objectPasses } = await import('../admission/matching/match.ts');
const { hooksOf } = await import('../admission/webhook/hook.ts');

afterEach(() => vi.restoreAllMocks());

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const MAPS = '/api/v1/namespaces/default/configmaps';

const rule = (resources: string) => ({
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE'],
  resources: [resources],
});

type Setup = Awaited<ReturnType<typeof startTestPlane>>;

async function must({ client }: Setup, path: string, body: object): Promise<void> {
  const { status, body: answer } = await client.send('POST', path, body);
  expect([status, answer.message]).toEqual([201, undefined]);
}

/** Narrows a webhook or policy to some of the objects of its resource. */
interface Narrow {
  readonly namespaceSelector?: object;
  readonly objectSelector?: object;
}

async function makeGuards(setup: Setup, name: string, resources: string, narrow: Narrow = {}): Promise<void> {
  await must(setup, `${ADMISSION}/validatingadmissionpolicies`, {
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [rule(resources)], ...narrow },
      validations: [{ expression: 'true' }],
    },
  });
  await must(setup, `${ADMISSION}/validatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  await must(setup, `${ADMISSION}/validatingadmissionpolicybindings`, {
    metadata: { name: `${name}-narrow` },
    spec: { policyName: name, validationActions: ['Deny'], matchResources: narrow },
  });
  for (const sort of ['validating', 'mutating']) {
    await must(setup, `${ADMISSION}/${sort}webhookconfigurations`, {
      metadata: { name },
      webhooks: [
        {
          name: `${name}.example.dev`,
          clientConfig: { url: `https://${name}/` },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          rules: [rule(resources)],
          ...narrow,
        },
      ],
    });
  }
}

const byName = (name: string): object => ({ matchLabels: { managed: 'yes', 'kubernetes.io/metadata.name': name } });

async function makeOthers(setup: Setup, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await makeGuards(setup, `kind-${i}`, 'secrets');
    await makeGuards(setup, `namespace-${i}`, 'configmaps', { namespaceSelector: byName(`n-${i}`) });
    await makeGuards(setup, `object-${i}`, 'configmaps', { objectSelector: byName(`o-${i}`) });
    // A webhook cannot select objects by their name.
    const spec = {
      matchConstraints: { resourceRules: [{ ...rule('configmaps'), resourceNames: [`name-${i}`] }] },
      validations: [{ expression: 'true' }],
    };
    await must(setup, `${ADMISSION}/validatingadmissionpolicies`, { metadata: { name: `name-${i}` }, spec });
    const binding = { policyName: `name-${i}`, validationActions: ['Deny'] };
    await must(setup, `${ADMISSION}/validatingadmissionpolicybindings`, {
      metadata: { name: `name-${i}` },
      spec: binding,
    });
  }
}

/**
 * Changes a webhook or policy, and returns how many webhooks and policies the server reads for the next write.
 * @param others the number of webhooks and policies for other objects
 */
async function guardsLookedAt(others: number): Promise<number[]> {
  const allow = async ({ body }: { body: string }) => {
    const { request } = JSON.parse(body) as { request: { uid: string } };
    const response = { uid: request.uid, allowed: true };
    return {
      status: 200,
      body: JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }),
    };
  };
  const setup = await startTestPlane({ webhookTransport: allow });
  await makeOthers(setup, others);
  await makeGuards(setup, 'mine', 'configmaps');
  await setup.clock.advance(1_000);
  const looks = [versionNamed, namespacePasses, objectPasses, hooksOf];
  for (const look of looks) vi.mocked(look).mockClear();
  await makeGuards(setup, 'late', 'configmaps');
  await setup.clock.advance(1_000);
  await must(setup, MAPS, { metadata: { name: 'first', labels: { managed: 'no' } } });
  const counts = looks.map((look) => vi.mocked(look).mock.calls.length);
  await setup.plane.close();
  return counts;
}

test('the first write after a change of a guard reads only matching webhooks and policies, independent of the number of others', async () => {
  const few = await guardsLookedAt(1);
  // The test created two webhook configurations, and the server read each of them once.
  expect(few).toEqual([expect.any(Number), expect.any(Number), expect.any(Number), 2]);
  expect(Math.min(...few)).toBeGreaterThan(0);
  expect(await guardsLookedAt(12)).toEqual(few);
});

/**
 * Returns how many rules the server evaluates for a read request of a user.
 * @param others the number of
 * unrelated roles and bindings
 */
async function rulesAsked(others: number): Promise<number> {
  const setup = await startTestPlane();
  const grant = async (name: string): Promise<void> => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
    await must(setup, `${RBAC}/namespaces/default/roles`, { metadata: { name }, rules });
    await must(setup, `${RBAC}/namespaces/default/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }],
    });
  };
  for (let i = 0; i < others; i++) await grant(`other-${i}`);
  await grant('me');
  vi.mocked(ruleAllows).mockClear();
  const { status } = await setup.client.send('GET', MAPS, undefined, { 'impersonate-user': 'me' });
  const asked = vi.mocked(ruleAllows).mock.calls.length;
  expect(status).toBe(200);
  await setup.plane.close();
  return asked;
}

test('only the rules of the bindings of a user are evaluated, independent of the number of others', async () => {
  const alone = await rulesAsked(0);
  expect(alone).toBeGreaterThan(0);
  expect(await rulesAsked(30)).toBe(alone);
});

/**
 * Deletes an owner with one dependent, and returns how many objects the garbage collector reads.
 * @param others the
 * number of unrelated owners
 */
async function readsOfACollection(others: number): Promise<number> {
  await using plane = await TestPlane.start('garbage-collector');
  const makeFamily = async (name: string): Promise<void> => {
    const { metadata } = await plane.must('POST', MAPS, { metadata: { name } });
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name, uid: metadata.uid };
    await plane.must('POST', MAPS, { metadata: { name: `${name}-child`, ownerReferences: [owner] } });
  };
  for (let i = 0; i < others; i++) await makeFamily(`other-${i}`);
  await makeFamily('mine');
  const parse = vi.spyOn(Registry.prototype, 'parse');
  await plane.must('DELETE', `${MAPS}/mine`);
  await plane.clock.advance(1_000);
  const reads = parse.mock.calls.length;
  parse.mockRestore();
  expect([await plane.exists(`${MAPS}/mine-child`), await plane.list(MAPS)]).toEqual([false, expect.any(Array)]);
  return reads;
}

test('the garbage collector reads only related objects, independent of the number of others', async () => {
  const alone = await readsOfACollection(0);
  expect(alone).toBeGreaterThan(0);
  expect(await readsOfACollection(25)).toBe(alone);
});
