import { X509Certificate } from 'node:crypto';
import { request as httpsRequest } from 'node:https';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { draftRequest } from '../../certificates/testing.ts';
import { type ControlPlane, startControlPlane } from '../../plane.ts';

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
const TOKEN = 'abc123.0123456789abcdef';

let plane: ControlPlane;

interface Condition {
  readonly message: string;
  readonly lastUpdateTime: string;
}

interface Reported {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: { readonly certificate?: string; readonly conditions?: readonly Condition[] };
  readonly message: string;
}

interface Answer<T = Reported> {
  readonly status: number;
  readonly body: T;
}

async function call(method: string, path: string, body?: unknown, token?: string): Promise<Answer> {
  const response = await plane.fetch(
    new Request(`http://plane${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  return { status: response.status, body: (await response.json()) as Reported };
}

function csr(node: string, more: Record<string, unknown> = {}) {
  const { key, certificate } = draftRequest({ commonName: `system:node:${node}`, organizations: ['system:nodes'] });
  const spec = {
    request: Buffer.from(certificate).toString('base64'),
    signerName: SIGNER,
    usages: ['digital signature', 'client auth'],
    ...more,
  };
  const metadata = { generateName: 'node-csr-' };
  return { key, object: { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata, spec } };
}

async function follow(name: string, done: (object: Reported) => boolean): Promise<Reported> {
  const response = await plane.fetch(
    new Request(`http://plane${REQUESTS}?watch=true&fieldSelector=metadata.name%3D${name}`),
  );
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { object } = JSON.parse(line);
      if (done(object)) return object;
    }
  }
  throw new Error('the watch ended');
}

const issued = (object: Reported): boolean => object.status?.certificate !== undefined;
const pemOf = ({ status }: Reported): string => Buffer.from(status.certificate ?? '', 'base64').toString();

async function addToken(): Promise<void> {
  const stringData = {
    'token-id': 'abc123',
    'token-secret': '0123456789abcdef',
    'usage-bootstrap-authentication': 'true',
  };
  const metadata = { name: 'bootstrap-token-abc123' };
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'bootstrap.kubernetes.io/token', metadata, stringData };
  expect((await call('POST', '/api/v1/namespaces/kube-system/secrets', secret)).status).toBe(201);
}

beforeEach(async () => {
  plane = await startControlPlane({ controllers: ['csrapproving', 'csrsigning'], port: 0 });
  await addToken();
});
afterEach(() => plane.close());

function overTls(
  pair: { key: string; cert: string },
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<unknown>> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      `${plane.url}${path}`,
      { method, ...pair, ca: plane.caCertificate, agent: false, headers: { 'content-type': 'application/json' } },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
      },
    );
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe('a kubelet joins', () => {
  test('a kubelet gets a certificate with its bootstrap token, and then authenticates as its node', async () => {
    const { key, object } = csr('n-1');
    const created = await call('POST', REQUESTS, object, TOKEN);
    expect(created).toMatchObject({
      status: 201,
      body: { spec: { username: 'system:bootstrap:abc123', groups: ['system:bootstrappers', 'system:authenticated'] } },
    });
    const done = await follow(created.body.metadata.name, issued);
    expect(done.status.conditions).toMatchObject([{ type: 'Approved', status: 'True', reason: 'AutoApproved' }]);
    const certificate = new X509Certificate(pemOf(done));
    expect(certificate.verify(new X509Certificate(plane.caCertificate ?? '').publicKey)).toBe(true);
    const self = await overTls(
      { key, cert: pemOf(done) },
      'POST',
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      {},
    );
    expect(self.body).toMatchObject({
      status: { userInfo: { username: 'system:node:n-1', groups: ['system:nodes', 'system:authenticated'] } },
    });
  });

  test('the identity in the spec of the client is ignored', async () => {
    const { object } = csr('n-1', { username: 'admin', groups: ['system:masters'], uid: 'x' });
    const created = await call('POST', REQUESTS, object, TOKEN);
    expect(created.body.spec).toMatchObject({ username: 'system:bootstrap:abc123' });
    expect(created.body.spec.uid).toBeUndefined();
  });
});

describe('automatic approval', () => {
  const asking = async (headers: Record<string, string>): Promise<Reported> => {
    const { object } = csr('n-1');
    const response = await plane.fetch(
      new Request(`http://plane${REQUESTS}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(object),
      }),
    );
    expect(response.status).toBe(201);
    return (await response.json()) as Reported;
  };
  const settle = async (): Promise<void> => {
    const created = await call('POST', REQUESTS, csr('later').object, TOKEN);
    await follow(created.body.metadata.name, issued);
  };

  test('a node that renews its own certificate', async () => {
    const created = await asking({ 'impersonate-user': 'system:node:n-1', 'impersonate-group': 'system:nodes' });
    const done = await follow(created.metadata.name, issued);
    expect(done.status.conditions?.[0]?.message).toContain('self kubelet client certificate');
  });

  test.each([
    ['another node', { 'impersonate-user': 'system:node:n-2', 'impersonate-group': 'system:nodes' }],
    ['an account', { 'impersonate-user': 'alice', 'impersonate-group': 'admins' }],
  ])('a request is not approved automatically: %s', async (_who, headers) => {
    const binding = {
      metadata: { name: 'asking' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-bootstrapper' },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'admins' }],
    };
    await call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding);
    const { name } = (await asking(headers)).metadata;
    await settle();
    expect((await call('GET', `${REQUESTS}/${name}`)).body.status).toEqual({});
  });
});

describe('signing', () => {
  test('a request that breaks the rules of its signer fails when it is approved', async () => {
    const { object } = csr('n-1', { usages: ['server auth', 'digital signature'] });
    const { name } = (await call('POST', REQUESTS, object)).body.metadata;
    const current = (await call('GET', `${REQUESTS}/${name}`)).body;
    const conditions = [{ type: 'Approved', status: 'True', reason: 'ByHand', message: '' }];
    expect((await call('PUT', `${REQUESTS}/${name}/approval`, { ...current, status: { conditions } })).status).toBe(
      200,
    );
    const failed = await follow(name, ({ status }) => status.conditions?.length === 2);
    expect(failed.status.conditions?.[1]).toMatchObject({
      type: 'Failed',
      reason: 'SignerValidationFailure',
      message: 'usages did not match [client auth digital signature key encipherment]',
    });
  });

  test('requests of other signers are ignored', async () => {
    const { object } = csr('n-1', { signerName: 'example.com/other' });
    const { name } = (await call('POST', REQUESTS, object, TOKEN)).body.metadata;
    const later = csr('n-2');
    await follow((await call('POST', REQUESTS, later.object, TOKEN)).body.metadata.name, issued);
    expect((await call('GET', `${REQUESTS}/${name}`)).body.status).toEqual({});
  });
});

describe('the request', () => {
  test.each([
    [{ request: 'eA==' }, 'spec.request: Invalid value: "eA==": PEM block type must be CERTIFICATE REQUEST'],
    [{ usages: ['client auth', 'client auth'] }, 'spec.usages[1]: Duplicate value: "client auth"'],
    [{ usages: [] }, 'spec.usages: Required value'],
    [{ signerName: '' }, 'spec.signerName: Required value'],
    [
      { signerName: 'foo' },
      'spec.signerName: Invalid value: "foo": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
    ],
    [
      { expirationSeconds: 4 },
      'spec.expirationSeconds: Invalid value: 4: may not specify a duration less than 600 seconds (10 minutes)',
    ],
  ])('%j is refused', async (more, message) => {
    const { status, body } = await call('POST', REQUESTS, csr('n-1', more).object);
    expect(status).toBe(422);
    expect(body.message).toContain(message);
  });

  test('the spec of a request is immutable, and an approval cannot be removed', async () => {
    const { object } = csr('n-1', { signerName: 'example.com/other' });
    const { name } = (await call('POST', REQUESTS, object)).body.metadata;
    const current = (await call('GET', `${REQUESTS}/${name}`)).body;
    const changed = await call('PUT', `${REQUESTS}/${name}`, {
      ...current,
      spec: { ...current.spec, usages: ['any'] },
    });
    expect(changed.body.spec).toEqual(current.spec);
    const conditions = [{ type: 'Approved', status: 'True' }];
    const approved = await call('PUT', `${REQUESTS}/${name}/approval`, { ...current, status: { conditions } });
    expect(approved.body.status.conditions?.[0]?.lastUpdateTime).toMatch(/Z$/);
    const withdrawn = await call('PUT', `${REQUESTS}/${name}/approval`, { ...approved.body, status: {} });
    expect(withdrawn.body.message).toContain('updates may not remove a condition of type "Approved"');
    const status = { conditions: approved.body.status.conditions, certificate: 'eA==' };
    const forged = await call('PUT', `${REQUESTS}/${name}/status`, { ...approved.body, status });
    expect(forged.body.message).toContain('must contain at least one CERTIFICATE PEM block');
  });
});
