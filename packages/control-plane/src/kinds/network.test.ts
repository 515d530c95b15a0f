import { expect, test } from 'vitest';
import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { cidrProblems, cidrWarnings, ipProblems, ipWarnings, strictIpProblems } from './base/addresses.ts';
import { builtinKinds } from './index.ts';

const kindOf = (kind: string, version = 'v1'): KindDefinition => {
  const found = builtinKinds.find((one) => one.kind === kind && one.version === version);
  if (found === undefined) throw new Error(`no kind ${kind}`);
  return found;
};
const context = { now: new Date(0), subresource: '', userName: 'u', newUid: () => '1' };

function causes(kind: string, spec: unknown, version?: string): string[] {
  const definition = kindOf(kind, version);
  const object = { apiVersion: 'x/v1', kind, metadata: { name: 'n' }, spec } as ApiObject;
  definition.setDefaults?.(object);
  return (definition.validate?.(object, context) ?? []).map(({ field, message }) => `${field}: ${message}`);
}

test.each([
  ['10.0.0.1', []],
  ['2001:db8::1', []],
  ['10.0.0', ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']],
  ['fe80::1%eth0', ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']],
  ['010.0.0.1', ['must not have leading 0s']],
  ['::ffff:1.2.3.4', ['must not be an IPv4-mapped IPv6 address']],
])('the address %s: %j', (text, problems) => {
  expect(ipProblems(text)).toEqual(problems);
});

test('an address that is not in the form of RFC 5952 is accepted with a warning', () => {
  expect(ipProblems('2001:DB8:0:0::1')).toEqual([]);
  expect(ipWarnings('f', '2001:DB8:0:0::1')).toEqual([
    'f: IPv6 address "2001:DB8:0:0::1" should be in RFC 5952 canonical format ("2001:db8::1")',
  ]);
  expect(ipWarnings('f', '010.0.0.1')).toEqual(['f: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"']);
  expect(strictIpProblems('1:0:0:2:0:0:0:3')).toEqual(['must be in canonical form ("1:0:0:2::3")']);
});

test.each([
  ['10.0.0.0/8', []],
  ['10.0.0.0/33', ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']],
  ['10.0.0.0/08', ['must not have leading 0s in IP or prefix length']],
  ['::ffff:1.2.3.0/120', ['must not have an IPv4-mapped IPv6 address']],
  ['10.0.0.1/8', ['must not have bits set beyond the prefix length']],
  ['2001:db8::1/64', ['must not have bits set beyond the prefix length']],
])('the range %s: %j', (text, problems) => {
  expect(cidrProblems(text)).toEqual(problems);
});

test('an ambiguous range causes a warning', () => {
  expect(cidrWarnings('f', '10.0.0.1/8')).toEqual([
    'f: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
  ]);
});

const block = (cidr: string, ...except: string[]) => ({
  podSelector: {},
  ingress: [{ from: [{ ipBlock: { cidr, except } }] }],
});

test.each([
  [{ podSelector: {}, ingress: [{ from: [{}] }] }, 'spec.ingress[0].from[0]: Required value: must specify a peer'],
  [block('10.0.0.0/8', '10.0.0.0/8'), 'must be a strict subset of `cidr`'],
  [block('10.0.0.0/8', '11.0.0.0/16'), 'must be a strict subset of `cidr`'],
  [
    { podSelector: {}, egress: [{ ports: [{ port: 80, endPort: 70 }] }] },
    'spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`',
  ],
  [
    { podSelector: {}, egress: [{ ports: [{ port: 'web', endPort: 70 }] }] },
    'may not be specified when `port` is non-numeric',
  ],
  [{ podSelector: {}, policyTypes: ['Both'] }, 'Unsupported value: "Both": supported values: "Ingress", "Egress"'],
])('NetworkPolicy %j is refused', (spec, message) => {
  expect(causes('NetworkPolicy', spec).join()).toContain(message);
});

test('NetworkPolicy: an update keeps a range that the stricter rules would refuse', () => {
  const policy = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'n' },
    spec: block('10.0.0.1/8'),
  };
  const { validate, validateUpdate } = kindOf('NetworkPolicy');
  expect(validate?.(policy, context)).toHaveLength(1);
  expect(validateUpdate?.(policy, policy, context)).toEqual([]);
});

const service = { name: 's', port: { number: 80 } };
const path = (more: Record<string, unknown>) => ({
  rules: [{ http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service }, ...more }] } }],
});

test.each([
  [{}, 'spec: Invalid value: null: either `defaultBackend` or `rules` must be specified'],
  [{ defaultBackend: { service: { name: 's', port: {} } } }, 'Required value: port name or number is required'],
  [path({ pathType: undefined }), 'spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified'],
  [path({ path: '/a//b' }), "must not contain '//'"],
  [path({ path: '/a/..' }), "cannot end with '/..'"],
  [{ ...path({}), tls: [{ hosts: ['*.*.a'] }] }, "a wildcard DNS-1123 subdomain must start with '*.'"],
  [{ rules: [{ host: '1.2.3.4' }] }, 'must be a DNS name, not an IP address'],
])('Ingress %j is refused', (spec, message) => {
  expect(causes('Ingress', spec).join()).toContain(message);
});

test.each([
  [{}, 'spec.controller: Required value'],
  [{ controller: 'foo' }, 'must be a domain-prefixed path'],
  [
    { controller: 'a.b/c', parameters: { kind: 'K', name: 'n', namespace: 'x' } },
    "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
  ],
])('IngressClass %j is refused', (spec, message) => {
  expect(causes('IngressClass', spec).join()).toContain(message);
});

const autoscaler = (more: Record<string, unknown>) => ({
  scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
  maxReplicas: 3,
  ...more,
});

test.each([
  [autoscaler({ maxReplicas: 0 }), 'spec.maxReplicas: Required value: must be set and greater than 0'],
  [autoscaler({ minReplicas: 4 }), 'must be greater than or equal to `minReplicas`'],
  [autoscaler({ scaleTargetRef: { kind: 'D', name: 'd', apiVersion: 'v1' } }), 'apiVersion must specify API group'],
  [autoscaler({ metrics: [{ type: 'Pods' }] }), 'must populate information for the given metric source'],
  [
    autoscaler({ metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Value' } } }] }),
    'must set either a target raw value or a target utilization',
  ],
  [autoscaler({ behavior: { scaleUp: { stabilizationWindowSeconds: 4000 } } }), 'must be less than or equal to 3600'],
])('HorizontalPodAutoscaler %j is refused', (spec, message) => {
  expect(causes('HorizontalPodAutoscaler', spec, 'v2').join()).toContain(message);
});

test('HorizontalPodAutoscaler: a behavior gets defaults', () => {
  const object = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: {},
    spec: autoscaler({ behavior: {} }),
  };
  kindOf('HorizontalPodAutoscaler', 'v2').setDefaults?.(object);
  expect(object.spec).toMatchObject({
    behavior: {
      scaleDown: { selectPolicy: 'Max' },
      scaleUp: { policies: [{ type: 'Pods', value: 4 }, { type: 'Percent' }] },
    },
  });
});
