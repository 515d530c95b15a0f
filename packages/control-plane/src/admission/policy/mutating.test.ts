import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { caller } from '../../auth/testing.ts';
import { startTestPlane } from '../../testing.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const rules = (group: string, resource: string) => [
  { apiGroups: [group], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: [resource] },
];

let setup: Awaited<ReturnType<typeof startTestPlane>>;
let call: ReturnType<typeof caller>;
beforeEach(async () => {
  setup = await startTestPlane();
  call = caller(setup.plane);
});
afterEach(() => setup.plane.close());

const apply = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const patch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } });

async function define(name: string, mutations: readonly object[], more: object = {}) {
  const body = {
    metadata: { name },
    spec: {
      reinvocationPolicy: 'Never',
      matchConstraints: { resourceRules: rules('', 'configmaps') },
      mutations,
      ...more,
    },
  };
  const answer = await call('POST', `${REGISTRATION}/mutatingadmissionpolicies`, { body });
  if (answer.status !== 201) return answer;
  await call('POST', `${REGISTRATION}/mutatingadmissionpolicybindings`, {
    body: { metadata: { name }, spec: { policyName: name } },
  });
  await setup.clock.advance(1_000);
  return answer;
}

const create = (name = 'x') =>
  call('POST', CONFIG_MAPS, { body: { metadata: { name, labels: { a: 'b' } }, data: { k: 'v' } } });

describe('the result of a mutation', () => {
  test.each([
    ["[JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}]", 500, 'no kind "Secret" is registered'],
    ["[JSONPatch{op: 'add', path: '/zzz', value: 'x'}]", 500, 'strict decoding error: unknown field "zzz"'],
    ["[JSONPatch{op: 'add', path: '/data/q', value: 5}]", 500, 'cannot unmarshal number into Go struct field'],
    ["[JSONPatch{op: 'remove', path: '/metadata'}]", 422, 'metadata.name: Required value'],
  ])('the result of a mutation is validated as an object of its kind: %s', async (expression, status, message) => {
    await define('p', [patch(expression)]);
    const answer = await create();
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
  });
});

describe('a mutation', () => {
  test('a mutation applies a configuration and then a patch', async () => {
    await define('p', [
      apply("Object{metadata: Object.metadata{labels: {'added': object.metadata.name}}}"),
      patch(
        "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x/y'), value: string(size(object.metadata.labels))}]",
      ),
    ]);
    const { status, body } = await create();
    expect(status).toBe(201);
    expect(body).toMatchObject({ metadata: { labels: { a: 'b', added: 'x', 'x/y': '2' } }, data: { k: 'v' } });
    expect(JSON.stringify(body.metadata?.managedFields)).not.toContain('added');
  });

  test('merges list items by their keys, with the existing items', async () => {
    const containers = 'Object.spec.template.spec.containers';
    await define(
      'p',
      [
        apply(
          `Object{spec: Object.spec{replicas: object.spec.replicas + 1, template: Object.spec.template{spec: Object.spec.template.spec{containers: [${containers}{name: 'side', image: 's'}]}}}}`,
        ),
      ],
      { matchConstraints: { resourceRules: rules('apps', 'deployments') } },
    );
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const { body } = await call('POST', DEPLOYMENTS, {
      body: { metadata: { name: 'd' }, spec: { replicas: 2, selector: { matchLabels: { a: 'b' } }, template } },
    });
    expect(body).toMatchObject({
      spec: { replicas: 3, template: { spec: { containers: [{ name: 'c' }, { name: 'side', image: 's' }] } } },
    });
  });

  test('a mutation uses conditions, variables and the authorizer', async () => {
    await define('p', [apply("Object{data: {'may': string(variables.may)}}")], {
      variables: [{ name: 'may', expression: "authorizer.group('').resource('pods').check('create').allowed()" }],
      matchConditions: [{ name: 'm', expression: "object.metadata.name != 'skip'" }],
    });
    expect((await create()).body).toMatchObject({ data: { may: 'true' } });
    expect((await create('skip')).body).toMatchObject({ data: { k: 'v' } });
  });

  test('a failed test operation leaves the object unchanged', async () => {
    await define('p', [
      patch(
        "[JSONPatch{op: 'replace', path: '/data/k', value: 'new'}, JSONPatch{op: 'test', path: '/data/k', value: 'v'}]",
      ),
    ]);
    expect((await create()).body).toMatchObject({ data: { k: 'v' } });
  });

  test('an earlier policy with reinvocation sees the changes of a later one', async () => {
    const seen = [apply("Object{data: {'labels': string(size(object.metadata.labels))}}")];
    await define('a', seen, { reinvocationPolicy: 'IfNeeded' });
    await define('b', [apply("Object{metadata: Object.metadata{labels: {'late': 'yes'}}}")]);
    expect((await create()).body).toMatchObject({ data: { labels: '2' } });
  });
});

describe('a mutation that fails', () => {
  const denied = "policy 'p' with binding 'p' denied request: ";
  test.each([
    [
      'a structure in the wrong place',
      apply("Object{metadata: Object.wrong{labels: {'a': 'c'}}}"),
      'type mismatch: unexpected type name "Object.wrong", expected "Object.metadata", which matches field name path from root Object type',
    ],
    [
      'a key that is not there',
      patch("[JSONPatch{op: 'remove', path: '/data/nope'}]"),
      "JSON Patch: error in remove for path: '/data/nope': Unable to remove nonexistent key: nope: missing value",
    ],
    [
      'a missing parent',
      patch("[JSONPatch{op: 'remove', path: '/data/nope/deeper'}]"),
      'JSON Patch: remove operation does not apply: doc is missing path: "/data/nope/deeper": missing value',
    ],
  ])('a mutation that fails refuses the request: %s', async (_, mutation, why) => {
    await define('p', [mutation]);
    const { status, body } = await create();
    expect(body).toMatchObject({ message: `${denied}${why}`, reason: 'Invalid' });
    expect(status).toBe(403);
  });

  test('a mutation that fails accepts the request when failures are ignored', async () => {
    await define('p', [apply("Object{data: {'a': object.data.nope}}")], { failurePolicy: 'Ignore' });
    expect((await create()).body).toMatchObject({ data: { k: 'v' } });
  });

  test('a mutation that fails refuses a partial change of an atomic list', async () => {
    await define('p', [apply("Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'q': 'r'}}}}")], {
      matchConstraints: { resourceRules: rules('apps', 'deployments') },
    });
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const { body } = await call('POST', DEPLOYMENTS, {
      body: { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } },
    });
    expect(body.message).toBe(
      `${denied}error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.selector`,
    );
  });
});

test.each([
  [[], 'spec.mutations: Required value: mutations must contain at least one item'],
  [
    [{ patchType: 'Foo' }],
    'spec.mutations[0].patchType: Unsupported value: "Foo": supported values: "ApplyConfiguration", "JSONPatch"',
  ],
  [
    [{ patchType: 'JSONPatch' }],
    'spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch',
  ],
  [[apply("'x'")], 'must evaluate to Object but got string'],
  [[patch("'x'")], 'must evaluate to list(JSONPatch) but got string'],
  [[apply('Object{data: nope}')], "undeclared reference to 'nope' (in container '')"],
])('a policy with %j is refused', async (mutations, message) => {
  const { status, body } = await define('p', mutations);
  expect(status).toBe(422);
  expect(body.message).toContain(message);
});
