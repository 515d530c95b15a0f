import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, realClock } from '../../apimachinery/objects/clock.ts';
import { caller } from '../../auth/testing.ts';
import { type ControlPlane, startControlPlane } from '../../plane.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

let plane: ControlPlane;
let call: ReturnType<typeof caller>;
const clock: Clock = {
  now: realClock.now,
  setTimeout(fn) {
    let cancelled = false;
    queueMicrotask(() => {
      if (!cancelled) fn();
    });
    return {
      cancel: () => {
        cancelled = true;
      },
    };
  },
};

beforeEach(async () => {
  plane = await startControlPlane({ controllers: false, clock });
  call = caller(plane);
});
afterEach(() => plane.close());

const RULES = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] }];

async function post(path: string, body: object): Promise<void> {
  const answer = await call('POST', path, { body });
  expect([answer.status, answer.body.message]).toEqual([201, undefined]);
}

async function enforce(spec: object, binding: object = {}): Promise<void> {
  await post(`${REGISTRATION}/validatingadmissionpolicies`, {
    metadata: { name: 'p' },
    spec: { matchConstraints: { resourceRules: RULES }, ...spec },
  });
  await post(`${REGISTRATION}/validatingadmissionpolicybindings`, {
    metadata: { name: 'b' },
    spec: { policyName: 'p', validationActions: ['Deny'], ...binding },
  });
}

const create = (data: Record<string, string>, metadata: object = { name: 'x' }, headers: Record<string, string> = {}) =>
  call('POST', CONFIG_MAPS, { body: { metadata, data }, headers });

const DENIED = "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";

describe('an expression', () => {
  test.each([
    ["object.data.a == '1'", { a: '1' }, undefined],
    ["object.data.a == '1'", { a: '2' }, "failed expression: object.data.a == '1'"],
    ["variables.first == 'q'", { a: 'q' }, undefined],
    ["variables.first == 'q' && variables.twice == 'qq'", { a: 'q' }, undefined],
    ["object.data.a == '1' || variables.broken == ''", { a: '1' }, undefined],
    [
      "request.operation == 'CREATE' && request.userInfo.groups.exists(g, g == 'system:masters')",
      { a: '1' },
      undefined,
    ],
    ['oldObject == null', { a: '1' }, undefined],
    ["namespaceObject.metadata.name == 'default'", { a: '1' }, undefined],
    ["namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'x'", { a: '1' }, 'failed expression'],
    [
      "variables.broken == ''",
      { a: '1' },
      "expression 'variables.broken == '''  resulted in error: composited variable \"broken\" fails to evaluate",
    ],
  ])('%s of %j', async (expression, data, message) => {
    const variables = [
      { name: 'first', expression: 'object.data.a' },
      { name: 'twice', expression: 'variables.first + variables.first' },
      { name: 'broken', expression: 'object.data.none' },
    ];
    await enforce({ variables, validations: [{ expression }] });
    const answer = await create(data);
    if (message === undefined) expect([answer.status, answer.body.message]).toEqual([201, undefined]);
    else expect(String(answer.body.message).replace(/\s+/g, ' ')).toContain(message.replace(/\s+/g, ' '));
  });

  test('an expression reads the old object of an update', async () => {
    await enforce({
      validations: [{ expression: 'oldObject == null || object.data.a == oldObject.data.a', message: 'a stays' }],
    });
    await create({ a: '1' });
    const answer = await call('PATCH', `${CONFIG_MAPS}/x`, { body: { data: { a: '2' } } });
    expect([answer.status, answer.body.message]).toEqual([422, `${DENIED}a stays`]);
  });
});

describe('the scope of a policy', () => {
  const no = [{ expression: 'false', message: 'no' }];

  test.each([
    ['an excluded resource', { matchConstraints: { resourceRules: RULES, excludeResourceRules: RULES } }, {}],
    ['another name', { matchConstraints: { resourceRules: [{ ...RULES[0], resourceNames: ['y'] }] } }, {}],
    ['other objects', { matchConstraints: { resourceRules: RULES, objectSelector: { matchLabels: { a: 'b' } } } }, {}],
    ['another namespace of the binding', {}, { matchResources: { namespaceSelector: { matchLabels: { a: 'b' } } } }],
    [
      'another resource of the binding',
      {},
      { matchResources: { resourceRules: [{ ...RULES[0], resources: ['secrets'] }] } },
    ],
    ['another user', { matchConditions: [{ name: 'c', expression: "request.userInfo.username == 'bob'" }] }, {}],
    ['another policy’s binding', {}, { policyName: 'q' }],
  ])('the scope of a policy does not include %s', async (_what, spec, binding) => {
    await enforce({ validations: no, ...spec }, binding);
    expect((await create({})).status).toBe(201);
  });

  test('a policy has no effect without its binding', async () => {
    await enforce({ validations: no });
    expect((await create({})).status).toBe(422);
    await call('DELETE', `${REGISTRATION}/validatingadmissionpolicybindings/b`);
    expect((await create({})).status).toBe(201);
  });
});

describe('failures', () => {
  test('failures of an expression are ignored under Ignore', async () => {
    await enforce({ failurePolicy: 'Ignore', validations: [{ expression: "object.data.none == 'x'" }] });
    expect((await create({ a: '1' })).status).toBe(201);
  });

  test('a policy whose message expression fails uses its message', async () => {
    const validations = [{ expression: 'false', message: 'plain', messageExpression: 'string(object.data.none)' }];
    await enforce({ validations });
    expect((await create({ a: '1' })).body.message).toBe(`${DENIED}plain`);
  });

  test.each([
    ['Forbidden', 403],
    ['RequestEntityTooLarge', 413],
    ['Invalid', 422],
  ])('failures with the reason %s are %d', async (reason, code) => {
    await enforce({ validations: [{ expression: 'false', reason }] });
    expect((await create({})).body).toMatchObject({ code, reason });
  });

  test('failures of a policy cause warnings when the binding requests them', async () => {
    await enforce({ validations: [{ expression: 'false', message: 'no' }] }, { validationActions: ['Warn'] });
    const answer = await create({});
    expect(answer.status).toBe(201);
    expect(answer.warnings).toEqual([
      "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no\"",
    ]);
  });
});

describe('bindings', () => {
  test('each binding warns, also after one that denies', async () => {
    await enforce({ validations: [{ expression: 'false', message: 'no' }] });
    const spec = { policyName: 'p', validationActions: ['Warn'] };
    await post(`${REGISTRATION}/validatingadmissionpolicybindings`, { metadata: { name: 'c' }, spec });
    const answer = await create({});
    expect([answer.status, answer.body.message]).toEqual([422, `${DENIED}no`]);
    expect(answer.warnings).toEqual([
      "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'c': no\"",
    ]);
  });

  test('bindings do not fail for a policy with an unknown parameter kind', async () => {
    await enforce(
      { paramKind: { apiVersion: 'nope.dev/v1', kind: 'Nope' }, validations: [{ expression: 'true' }] },
      { paramRef: { name: 'x', parameterNotFoundAction: 'Deny' } },
    );
    expect((await create({})).body.message).toContain(
      "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource",
    );
  });
});

describe('parameters', () => {
  const withParams = (paramRef: object) =>
    enforce(
      {
        paramKind: { apiVersion: 'v1', kind: 'Secret' },
        validations: [{ expression: 'object.data.a == string(params.metadata.labels.wanted)' }],
      },
      { paramRef },
    );
  const secret = (name: string, wanted: string) =>
    post('/api/v1/namespaces/default/secrets', { metadata: { name, labels: { wanted, of: 'p' } } });

  test('a binding finds parameters by name, in the namespace of the request', async () => {
    await secret('s', '1');
    await withParams({ name: 's', parameterNotFoundAction: 'Deny' });
    expect((await create({ a: '2' })).status).toBe(422);
    expect((await create({ a: '1' })).status).toBe(201);
  });

  test('a binding finds parameters by selector: all of them are evaluated', async () => {
    await secret('s', '1');
    await secret('t', '2');
    await withParams({ selector: { matchLabels: { of: 'p' } }, parameterNotFoundAction: 'Deny' });
    expect((await create({ a: '1' })).status).toBe(422);
  });

  test('parameters that do not exist cause a refusal with Deny', async () => {
    await withParams({ name: 's', parameterNotFoundAction: 'Deny' });
    expect((await create({ a: '1' })).body.message).toContain(
      'no params found for policy binding with `Deny` parameterNotFoundAction',
    );
  });

  test('parameters that do not exist are ignored with Allow', async () => {
    await withParams({ name: 's', parameterNotFoundAction: 'Allow' });
    expect((await create({ a: '1' })).status).toBe(201);
  });
});

describe('the authorizer', () => {
  test.each([
    ["authorizer.group('').resource('pods').namespace('default').check('create').allowed()", 201],
    ["authorizer.requestResource.check('create').allowed()", 201],
    ["authorizer.path('/healthz').check('get').allowed()", 201],
    ["!authorizer.serviceAccount('a', 'b').group('').resource('pods').check('create').allowed()", 201],
    ["authorizer.serviceAccount('a', 'b').group('').resource('pods').name('x').check('create').allowed()", 422],
    ["authorizer.group('apps').resource('deployments').subresource('scale').check('x').errored()", 422],
  ])('%s: %i', async (expression, status) => {
    await enforce({ validations: [{ expression }] });
    expect((await create({ a: '1' })).status).toBe(status);
  });

  test('an expression that uses it incorrectly is refused', async () => {
    const body = {
      metadata: { name: 'p' },
      spec: {
        matchConstraints: { resourceRules: RULES },
        validations: [{ expression: "authorizer.group('').check('get').allowed()" }],
      },
    };
    const answer = await call('POST', `${REGISTRATION}/validatingadmissionpolicies`, { body });
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain("found no matching overload for 'check' applied to");
  });
});
