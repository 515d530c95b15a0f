import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestPlane, thingCrd } from '../testing.ts';

const LARGE = '9007199254740993';
const PATH = '/apis/x.dev/v1/namespaces/default/things';
const CRD = thingCrd({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { num: { type: 'integer' }, free: { 'x-kubernetes-preserve-unknown-fields': true } },
      'x-kubernetes-validations': [{ rule: '!has(self.num) || self.num != 9007199254740995', message: 'not that' }],
    },
  },
});

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeAll(async () => {
  setup = await startTestPlane({ crds: [CRD] });
});
afterAll(() => setup.plane.close());

async function send(method: string, path: string, body?: string, type = 'application/json'): Promise<string> {
  const init = body === undefined ? {} : { body, headers: { 'content-type': type } };
  return (await setup.plane.fetch(new Request(`https://plane${path}`, { method, ...init }))).text();
}
const thing = (name: string, n: string): string =>
  `{"apiVersion":"x.dev/v1","kind":"Thing","metadata":{"name":"${name}"},"spec":{"num":${n},"free":{"a":[${n}]}}}`;

it('an integer beyond 2^53 is exact in answers: after a create, a get, a list, patches and an apply', async () => {
  const whole = new RegExp(`"num":${LARGE}[,}]`);
  expect(await send('POST', PATH, thing('a', LARGE))).toMatch(whole);
  expect(await send('GET', `${PATH}/a`)).toContain(`"a":[${LARGE}]`);
  expect(await send('GET', PATH)).toMatch(whole);
  const labels = '{"metadata":{"labels":{"a":"b"}}}';
  expect(await send('PATCH', `${PATH}/a`, labels, 'application/merge-patch+json')).toMatch(whole);
  const add = `[{"op":"test","path":"/spec/num","value":${LARGE}},{"op":"add","path":"/spec/free/b","value":-${LARGE}}]`;
  expect(await send('PATCH', `${PATH}/a`, add, 'application/json-patch+json')).toContain(`"b":-${LARGE}`);
  const applied = await send('PATCH', `${PATH}/b?fieldManager=m`, thing('b', LARGE), 'application/apply-patch+yaml');
  expect(applied).toMatch(whole);
});

it('a large integer is read from YAML and written as YAML', async () => {
  const yaml = `apiVersion: x.dev/v1\nkind: Thing\nmetadata:\n  name: text\nspec:\n  num: ${LARGE}\n`;
  expect(await send('POST', PATH, yaml, 'application/yaml')).toContain(`"num":${LARGE}`);
  const request = new Request(`https://plane${PATH}/text`, { headers: { accept: 'application/yaml' } });
  expect(await (await setup.plane.fetch(request)).text()).toContain(`num: ${LARGE}\n`);
});

it('a large integer is exact in rules, and refused above 64 bits or with a fraction', async () => {
  expect(await send('POST', PATH, thing('c', '9007199254740995'))).toContain('not that');
  expect(await send('POST', PATH, thing('d', '9007199254740994'))).toContain('"num":9007199254740994');
  expect(await send('POST', PATH, thing('e', '9223372036854775808'))).toContain(
    'spec.num in body must be of type integer',
  );
  expect(await send('POST', PATH, thing('f', '1e18'))).toContain('spec.num in body must be of type integer');
});

it('a large integer is accepted in fields of built-in kinds with 64 bits, and refused in those with 32', async () => {
  const lease = (field: string): string => `{"metadata":{"name":"l"},"spec":{"${field}":${LARGE}}}`;
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  expect(await send('POST', leases, lease('leaseTransitions'))).toContain(
    `json: cannot unmarshal number ${LARGE} into Go struct field LeaseSpec.spec.leaseTransitions of type int32`,
  );
  const event = `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"},"data":1}`;
  expect(await send('POST', '/api/v1/namespaces/default/events', event)).toContain('"kind":"Event"');
  const revision = `{"metadata":{"name":"r"},"revision":${LARGE},"data":{"num":${LARGE}}}`;
  const revisions = '/apis/apps/v1/namespaces/default/controllerrevisions';
  const made = await send('POST', revisions, revision);
  expect(made).toContain(`"revision":${LARGE}`);
  expect(made).toContain(`"num":${LARGE}`);
});

it('a large integer is accepted in limits, keys and defaults of a schema, and shown in documents and Tables', async () => {
  const crd = thingCrd({
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          most: { type: 'integer', maximum: 2 ** 53 },
          three: { type: 'integer', multipleOf: 3 },
          chosen: { type: 'integer', enum: [1] },
        },
      },
    },
  });
  const text = JSON.stringify({
    ...crd,
    metadata: { name: 'wholes.big.dev' },
    spec: {
      ...crd.spec,
      group: 'big.dev',
      names: { plural: 'wholes', kind: 'Whole' },
      versions: crd.spec.versions.map((version) => ({
        ...version,
        additionalPrinterColumns: [{ name: 'I', type: 'integer', jsonPath: '.spec.chosen' }],
      })),
    },
  }).replace('"enum":[1]', `"enum":[${LARGE}],"default":${LARGE}`);
  expect(await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', text)).toContain(LARGE);
  const wholes = '/apis/big.dev/v1/namespaces/default/wholes';
  const whole = (name: string, spec: string): string =>
    `{"apiVersion":"big.dev/v1","kind":"Whole","metadata":{"name":"${name}"},"spec":${spec}}`;
  expect(await send('POST', wholes, whole('a', '{}'))).toContain(`"chosen":${LARGE}`);
  expect(await send('POST', wholes, whole('b', `{"most":${LARGE}}`))).toContain(
    'spec.most in body should be less than or equal to 9007199254740992',
  );
  expect(await send('POST', wholes, whole('c', `{"three":${LARGE}}`))).toContain(`"three":${LARGE}`);
  expect(await send('POST', wholes, whole('d', '{"three":9007199254740994}'))).toContain('should be a multiple of 3');
  expect(await send('POST', wholes, whole('e', '{"chosen":9007199254740994}'))).toContain(
    `supported values: \\"${LARGE}\\"`,
  );
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const table = await setup.plane.fetch(new Request(`https://plane${wholes}/a`, { headers }));
  expect(await table.text()).toContain(`"cells":["a",${LARGE}]`);
  expect(await send('GET', '/openapi/v3/apis/big.dev/v1')).toContain(`"default":${LARGE}`);
  expect(await send('GET', '/openapi/v2')).toContain(LARGE);
});

it('a large integer is validated in fields of a pod like any other number', async () => {
  await send('POST', '/api/v1/namespaces/default/serviceaccounts', '{"metadata":{"name":"default"}}');
  const pod = (name: string, spec: string): string =>
    `{"metadata":{"name":"${name}"},"spec":{${spec},"containers":[{"name":"c","image":"x"}]}}`;
  const pods = '/api/v1/namespaces/default/pods';
  expect(await send('POST', pods, pod('a', `"securityContext":{"runAsUser":${LARGE}}`))).toContain(
    `Invalid value: ${LARGE}: must be between 0 and 2147483647, inclusive`,
  );
  expect(await send('POST', pods, pod('b', `"activeDeadlineSeconds":${LARGE}`))).toContain(
    `spec.activeDeadlineSeconds: Invalid value: ${LARGE}: must be between 1 and 2147483647, inclusive`,
  );
  expect(await send('POST', pods, pod('c', `"terminationGracePeriodSeconds":-${LARGE}`))).toContain(
    '"terminationGracePeriodSeconds":1,',
  );
  expect(await send('POST', pods, pod('d', `"nodeName":"n","terminationGracePeriodSeconds":${LARGE}`))).toContain(
    LARGE,
  );
  expect(await send('DELETE', `${pods}/d`)).toContain('"deletionTimestamp":"9999-12-31T23:59:59Z"');
});

it('a negative one is refused for a count or a revision', async () => {
  const revisions = '/apis/apps/v1/namespaces/default/controllerrevisions';
  expect(await send('PATCH', `${revisions}/r`, `{"revision":-${LARGE}}`, 'application/merge-patch+json')).toContain(
    `revision: Invalid value: -${LARGE}: must be greater than or equal to 0`,
  );
});

it('wraps to 32 bits in an apply or a strategic patch, as in the real server', async () => {
  const services = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const lease =
    '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"w"},"spec":{"leaseTransitions":4294967303}}';
  expect(await send('PATCH', `${services}/w?fieldManager=m`, lease, 'application/apply-patch+yaml')).toContain(
    '"leaseTransitions":7',
  );
  expect(
    await send(
      'PATCH',
      `${services}/w`,
      '{"spec":{"leaseTransitions":4294967305}}',
      'application/strategic-merge-patch+json',
    ),
  ).toContain('"leaseTransitions":9');
  expect(
    await send('PATCH', `${services}/w`, '{"spec":{"leaseTransitions":4294967305}}', 'application/merge-patch+json'),
  ).toContain('cannot unmarshal number 4294967305');
});

it('a quantity beyond 64 bits keeps its digits in a merge patch', async () => {
  const path = '/api/v1/namespaces/default/resourcequotas';
  await send('POST', path, '{"metadata":{"name":"q"},"spec":{"hard":{"pods":"5"}}}');
  const patch = '{"spec":{"hard":{"requests.cpu":9223372036854775808}}}';
  const patched = await send('PATCH', `${path}/q`, patch, 'application/merge-patch+json');
  expect(patched).toContain('"requests.cpu":"9223372036854775808"');
});

it('a large integer is validated in the periods of a CSI driver', async () => {
  const spec = `{"nodeAllocatableUpdatePeriodSeconds":-${LARGE},"tokenRequests":[{"audience":"a","expirationSeconds":${LARGE}}]}`;
  const answer = await send('POST', '/apis/storage.k8s.io/v1/csidrivers', `{"metadata":{"name":"d"},"spec":${spec}}`);
  expect(answer).toContain(`Invalid value: -${LARGE}: must be greater than or equal to 10 seconds`);
  expect(answer).toContain(`Invalid value: ${LARGE}: may not specify a duration larger than 2^32 seconds`);
});
