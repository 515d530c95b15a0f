import { describe, expect, test } from 'vitest';
import { issueAuthority, issueServing } from '../../admission/self-made/issue.ts';
import { createClient } from '../../client/create-client.ts';
import { VirtualClock } from '../../clock/virtual-clock.ts';
import { grantText, permissionOf, permissionText, refusedPermission } from '../../informer/permission.ts';
import { createMemoryLogger } from '../../log/memory-logger.ts';
import { createMetrics } from '../../metrics/create-metrics.ts';
import { watchEnvironment } from '../environment/watch-environment.ts';
import { type CertificateInUse, checkCertificate, SOON_MS, untrustedSentence } from './certificates.ts';
import { skewSentence, surelySkewed } from './clock-skew.ts';
import { crdSentence, missingFields, servedSchema } from './crd-fields.ts';
import { CertificatesInUse } from './in-use.ts';
import { checkMemory } from './memory.ts';
import { compareVersions } from './versions.ts';
import { Warnings } from './warnings.ts';
import { AnswerWatcher } from './watch-answers.ts';

const DAY = 24 * 3_600_000;
const NOW = new Date('2026-03-01T12:00:00Z');

describe('a warning', () => {
  test('a warning is a log line when it begins, changes and ends, and a series in between', async () => {
    const [log, metrics] = [createMemoryLogger(), createMetrics()];
    const warnings = new Warnings(log, metrics.meters);
    warnings.raise('crd', 'a', 'one');
    warnings.raise('crd', 'a', 'one');
    expect(warnings.summary()).toBe('warnings (details in the log): crd (a)');
    expect((await metrics.scrape()).text).toContain('runtime_warning{kind="crd",subject="a"} 1');
    warnings.raise('crd', 'a', 'two');
    warnings.clear('crd', 'a');
    warnings.clear('crd', 'a');
    expect(log.lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'warn one',
      'warn two',
      'info Warning resolved',
    ]);
    expect((await metrics.scrape()).text).not.toContain('runtime_warning{');
    expect(warnings.summary()).toBe('ok');
  });
});

test('a memory warning is not repeated after each collection', () => {
  const log = createMemoryLogger();
  const warnings = new Warnings(log, createMetrics().meters);
  const MiB = 1_048_576;
  const limits = { heapLimit: 100 * MiB, resident: 0, residentLimit: undefined };
  for (const heap of [80, 81, 70, 82]) expect(checkMemory({ heap: heap * MiB, ...limits }, warnings)).toBeUndefined();
  expect(log.lines).toHaveLength(1);
});

test('the warning of an untrusted server ends with its next answer', () => {
  const [clock, warnings] = [new VirtualClock(), new Warnings(createMemoryLogger(), createMetrics().meters)];
  const answers = new AnswerWatcher({ clock, warnings, meters: createMetrics().meters });
  const { observe } = answers.of('control', { shown: 'a token' });
  const request = { method: 'GET', path: '/version', ms: 1 };
  const failure = Object.assign(new Error('expired'), { code: 'CERT_HAS_EXPIRED' });
  observe({ ...request, code: 0, failure });
  observe({ ...request, code: 0, failure: new Error('nobody is there') });
  expect(warnings.has('certificate')).toBe(true);
  observe({ ...request, code: 401 });
  expect([warnings.has('certificate'), warnings.has('credentials')]).toEqual([false, true]);
});

describe('certificates', () => {
  const issued = async (fromMs: number, untilMs: number): Promise<CertificateInUse & { key: string }> => {
    const validity = { from: new Date(NOW.getTime() + fromMs), until: new Date(NOW.getTime() + untilMs) };
    const { cert, key } = await issueServing(await issueAuthority(validity), ['localhost'], validity);
    return { what: 'client certificate of the control cluster', certificate: cert, key };
  };

  test.each([
    ['in order', -DAY, 2 * SOON_MS, undefined],
    [
      'about to expire',
      -DAY,
      SOON_MS - DAY,
      'expires at 2026-03-07T12:00:00.000Z; issue a new certificate before the expiry',
    ],
    ['expired', -2 * DAY, -DAY, 'expired at 2026-02-28T12:00:00.000Z; issue a new certificate'],
    [
      'not valid yet',
      DAY,
      30 * DAY,
      'is valid only from 2026-03-02T12:00:00.000Z; check the clock of this machine, or issue a new certificate',
    ],
  ])('a certificate that is %s', async (_how, from, until, sentence) => {
    const assessed = checkCertificate(await issued(from, until), NOW);
    expect(assessed.sentence).toBe(sentence && `the client certificate of the control cluster ${sentence}`);
    expect(assessed.endsAt).toBe(NOW.getTime() + until);
  });

  test('a warning reports a certificate with a foreign key, and an invalid certificate', async () => {
    const [one, other] = [await issued(-DAY, 90 * DAY), await issued(-DAY, 90 * DAY)];
    expect(checkCertificate({ ...one, key: other.key }, NOW).sentence).toMatch(/and its key do not match/);
    expect(checkCertificate({ ...one, key: 'nonsense' }, NOW).sentence).toMatch(/and its key do not match/);
    expect(checkCertificate({ ...one, certificate: 'x', from: '/run/client.crt' }, NOW).sentence).toBe(
      'the client certificate of the control cluster (/run/client.crt) is not a PEM certificate; replace the file content with a PEM certificate',
    );
  });

  test('the warning of an untrusted server certificate contains the reason, but other failures have no warning', () => {
    const tls = Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' });
    expect(untrustedSentence('control', new Error('no answer', { cause: tls }))).toBe(
      'the certificate of the control API server has expired; renew the certificate on the server (CERT_HAS_EXPIRED)',
    );
    expect(untrustedSentence('control', Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))).toBeUndefined();
    const unknown = Object.assign(new Error('x'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' });
    expect(untrustedSentence('control', unknown, '/run/ca.crt')).toBe(
      'the certificate of the control API server is signed by an authority that is not in /run/ca.crt; add this authority (SELF_SIGNED_CERT_IN_CHAIN)',
    );
  });
});

describe('clocks', () => {
  const [sentAt, receivedAt] = [100_000, 100_400];
  test.each([
    ['within the second that is rounded off', 100_000 - 999, 0],
    ['in the middle', 100_000, 0],
    ['ahead', 160_400, 60_000],
    ['behind', 40_000 - 999, -60_000],
  ])('a server certificate that is %s', (_how, date, skewMs) => {
    expect(surelySkewed({ sentAt, receivedAt, date })).toBe(skewMs);
  });

  test('a skew is reported from ten seconds on, with its direction', () => {
    expect(skewSentence('control', 9_999)).toBeUndefined();
    expect(skewSentence('control', 60_000)).toContain('is 60 s behind the clock of the control API server');
    expect(skewSentence('target', -60_000)).toContain('is 60 s ahead of the clock of the target API server');
  });
});

describe('permissions', () => {
  test.each([
    ['GET', '/api/v1/nodes?limit=500', 'list nodes'],
    ['GET', '/api/v1/nodes?resourceVersion=3&watch=true', 'watch nodes'],
    ['GET', '/api/v1/nodes?watch=false', 'list nodes'],
    ['GET', '/api/v1/nodes/a', 'get nodes'],
    ['GET', '/api/v1/namespaces/x', 'get namespaces'],
    ['POST', '/api/v1/namespaces/x/pods/p/eviction', 'create pods/eviction'],
    [
      'PATCH',
      '/apis/machine.sapcloud.io/v1alpha1/namespaces/x/machines/m/status',
      'patch machines/status.machine.sapcloud.io',
    ],
    [
      'DELETE',
      '/apis/machine.sapcloud.io/v1alpha1/namespaces/x/machines',
      'deletecollection machines.machine.sapcloud.io',
    ],
    ['PUT', '/apis/coordination.k8s.io/v1/namespaces/x/leases/l', 'update leases.coordination.k8s.io'],
  ])('%s %s needs to %s', (method, path, text) => {
    const permission = permissionOf(method, path);
    expect(permission && permissionText(permission)).toBe(text);
  });

  test('a missing permission is reported in the form of a role', () => {
    expect(grantText({ verb: 'create', resource: 'leases', group: 'coordination.k8s.io' })).toBe(
      '{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}',
    );
    expect(grantText({ verb: 'list', resource: 'pods', group: '' })).toBe(
      '{apiGroups: [""], resources: [pods], verbs: [list]}',
    );
  });

  test('requests without a resource need no permission, and refusals of admission are not refusals of the authorizer', () => {
    expect(permissionOf('GET', '/version')).toBeUndefined();
    expect(permissionOf('GET', '/openapi/v3/apis/a/v1')).toBeUndefined();
    expect(refusedPermission('admission webhook "x" denied the request: no')).toBeUndefined();
    expect(
      refusedPermission(
        'GET /api/v1/nodes: nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope',
      ),
    ).toEqual({ verb: 'list', resource: 'nodes', group: '' });
  });
});

describe('CRDs', () => {
  const text = { type: 'string' };
  const expected = {
    properties: {
      metadata: { properties: { anything: text } },
      spec: {
        properties: {
          a: text,
          list: { items: { properties: { b: text } } },
          map: { additionalProperties: { properties: { c: text } } },
        },
      },
    },
  };

  test('missing fields are reported with their paths, except those of metadata', () => {
    expect(missingFields(expected, expected)).toEqual([]);
    expect(missingFields(expected, { properties: {} })).toEqual(['spec']);
    const older = { properties: { spec: { properties: { list: { items: {} }, map: { additionalProperties: {} } } } } };
    expect(missingFields(expected, older)).toEqual(['spec.a', 'spec.list[].b', 'spec.map[*].c']);
    const free = { properties: { spec: { 'x-kubernetes-preserve-unknown-fields': true } } };
    expect(missingFields(expected, free)).toEqual([]);
  });

  test('the kind is found by its declaration, and a missing one is reported with a hint', () => {
    const kind = { group: 'g', version: 'v1', kind: 'K' };
    const schema = { ...expected, 'x-kubernetes-group-version-kind': [kind] };
    expect(servedSchema({ components: { schemas: { 'any.name': schema } } }, kind)).toBe(schema);
    expect(servedSchema({}, kind)).toBeUndefined();
    expect(crdSentence('ks.g', expected, undefined)).toContain('CRD ks.g is not installed');
    expect(crdSentence('ks.g', expected, expected)).toBeUndefined();
    const many = { properties: Object.fromEntries('abcdef'.split('').map((name) => [name, text])) };
    expect(crdSentence('ks.g', many, {})).toContain('drops the fields a, b, c, d and 2 more');
  });
});

test('a standby warns while another version leads', () => {
  const log = createMemoryLogger();
  const warnings = new Warnings(log, createMetrics().meters);
  const own = { name: 'demo', version: '2.0.0' };
  compareVersions(own, 'old-pod', '1.0.0', warnings);
  expect(log.lines[0]?.message).toMatch(/^the leader old-pod has version 1.0.0, but this standby has version 2.0.0/);
  compareVersions(own, 'new-pod', '2.0.0', warnings);
  expect(warnings.list()).toEqual([]);
  compareVersions(own, 'a-client-go-candidate', undefined, warnings);
  expect(warnings.list()).toEqual([]);
});

test('CRDs are compared when the API server is reached, and again after a minute if that failed', async () => {
  const [clock, log, { meters }] = [new VirtualClock(), createMemoryLogger(), createMetrics()];
  const stop = new AbortController();
  const reach = new AbortController();
  let asked = 0;
  const request = (): Promise<never> => {
    asked += 1;
    return Promise.reject(new Error('nobody answers'));
  };
  const client = createClient({ transport: request, userAgent: 'test', clock });
  const schema = { openAPIV3Schema: {} };
  const spec = { group: 'g', names: { kind: 'K', plural: 'ks' }, versions: [{ name: 'v1', served: true, schema }] };
  const crds = [{ metadata: { name: 'ks.g' }, spec }];
  const watching = watchEnvironment(
    {
      clock,
      log,
      meters,
      crds,
      client,
      reached: reach.signal,
      warnings: new Warnings(log, meters),
      certificates: new CertificatesInUse(),
    },
    stop.signal,
  );
  await clock.advance(90_000);
  expect(asked).toBe(0);
  reach.abort();
  await clock.advance(59_000);
  const before = asked;
  expect(before).toBeGreaterThan(0);
  await clock.advance(2_000);
  expect(asked).toBeGreaterThan(before);
  stop.abort();
  await watching;
});
