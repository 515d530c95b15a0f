import { mkdtempSync, rmSync } from 'node:fs';
import { type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { createClient, handlerTransport, issueAuthority, issueServing, realClock, seededRandom } from '@mcm/kube';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Hub } from '../board/hub.ts';
import { isLoopback } from '../remote.ts';
import { serveDashboard } from '../serve.ts';
import { type DashboardServer, startDashboard } from '../server.ts';

let plane: ControlPlane;
let dashboard: DashboardServer;
const end = new AbortController();
const client = createClient({
  transport: handlerTransport((call) => plane.fetch(call)),
  userAgent: 'test',
  clock: realClock,
});
const cluster = { client, target: client, namespace: 'default', close: async () => undefined };

async function tokenOf(name: string): Promise<string> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await client.request('POST', accounts, { body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } } });
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const made = await client.request<{ status: { token: string } }>('POST', `${accounts}/${name}/token`, { body });
  return made.status.token;
}

const rbac = (plural: string, kind: string, more: object) =>
  client.request('POST', `/apis/rbac.authorization.k8s.io/v1/${plural}`, {
    body: { apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata: { name: 'dashboard' }, ...more },
  });

let allowed = '';
let stranger = '';

beforeAll(async () => {
  plane = await startControlPlane({ crds, controllers: false });
  allowed = await tokenOf('allowed');
  stranger = await tokenOf('stranger');
  await rbac('clusterroles', 'ClusterRole', { rules: [{ nonResourceURLs: ['/dashboard'], verbs: ['get'] }] });
  await rbac('clusterrolebindings', 'ClusterRoleBinding', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'dashboard' },
    subjects: [{ kind: 'ServiceAccount', name: 'allowed', namespace: 'default' }],
  });
  const remote = { host: '127.0.0.1', certificates: undefined };
  dashboard = await serveDashboard(cluster, { random: seededRandom(1), signal: end.signal, port: 0, remote });
});
afterAll(async () => {
  await dashboard.close();
  end.abort(new Error('the test is over'));
  await plane.close();
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

const ask = (path: string, options: RequestOptions = {}, body = ''): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const call = request(new URL(path, dashboard.url), { rejectUnauthorized: false, ...options }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (text.includes('\ndata: ') && answer.headers['content-type'] === 'text/event-stream') call.destroy();
      });
      answer.once('close', () => resolve({ status: answer.statusCode, headers: answer.headers, body: text }));
    });
    call.once('error', reject);
    call.end(body);
  });

const bearer = (token: string): RequestOptions => ({ headers: { authorization: `Bearer ${token}` } });
const logIn = (token: string, headers: Record<string, string> = {}): Promise<Answer> =>
  ask('/login', { method: 'POST', headers }, `token=${encodeURIComponent(token)}`);

const PROTECTED = [
  '/',
  '/machines',
  '/script.js',
  '/live',
  '/api/machines/default/a',
  '/api/yaml/node/-/a',
  '/nothing',
];

describe('a dashboard for other machines', () => {
  test.each(PROTECTED)('%s needs a login', async (path) => {
    const { status, headers, body } = await ask(path);
    expect([status, headers.location]).toEqual(['/', '/machines'].includes(path) ? [303, '/login'] : [401, undefined]);
    expect(body).not.toContain('machine-controller');
  });

  test.each(PROTECTED)('%s is refused for a user without the permission, and for an invalid token', async (path) => {
    const refused = await ask(path, bearer(stranger));
    expect([refused.status, refused.body]).toEqual([
      403,
      expect.stringContaining('has no permission to get /dashboard'),
    ]);
    const invalid = await ask(path, bearer(`${allowed}x`));
    expect([301, 303, 401]).toContain(invalid.status);
  });

  test('a user with the permission reads the page, the stream and the details', async () => {
    expect((await ask('/', bearer(allowed))).body).toContain('/script.js');
    expect((await ask('/live', bearer(allowed))).body).toContain('retry:');
    expect((await ask('/api/machines/default/a', bearer(allowed))).status).toBe(200);
  });

  test('a login with a token starts a session, and a logout ends it', async () => {
    const page = await ask('/login');
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('<form method="post"')]);
    const done = await logIn(allowed);
    const [cookie = ''] = done.headers['set-cookie'] ?? [];
    expect([done.status, done.headers.location]).toEqual([303, '/']);
    expect(cookie).toMatch(
      /^__Host-mcm-dashboard=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=28800$/,
    );
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    expect((await ask('/', { headers })).status).toBe(200);
    // The page shows the logout button if the field `login` is true.
    expect((await ask('/live', { headers })).body).toMatch(/"login":true/);
    for (const foreign of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      const refused = await ask('/logout', { method: 'POST', headers: { ...headers, ...foreign } });
      expect([refused.status, refused.headers['set-cookie']]).toEqual([403, undefined]);
    }
    expect((await ask('/', { headers })).status).toBe(200);
    await ask('/logout', { method: 'POST', headers: { ...headers, 'sec-fetch-site': 'same-origin' } });
    expect((await ask('/', { headers })).status).toBe(303);
  });

  test('a login is refused without a valid token, without the permission, and from another site', async () => {
    expect((await logIn('')).status).toBe(401);
    expect((await logIn('<b>')).status).toBe(401);
    const refused = await logIn(stranger);
    expect([refused.status, refused.headers['set-cookie']]).toEqual([403, undefined]);
    expect((await logIn('a'.repeat(20_000))).status).toBe(401);
    expect((await logIn(allowed, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await logIn(allowed, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  });

  test('probes and the style sheet need no login, and show nothing about the cluster', async () => {
    expect(await ask('/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
    expect((await ask('/style.css')).headers['content-type']).toContain('text/css');
  });
});

test('a browser gets the login page with the reason when its user has lost the permission', async () => {
  const now = Date.now();
  const validity = { from: new Date(now - 60_000), until: new Date(now + 60_000) };
  const pair = await issueServing(await issueAuthority(validity, 'test'), ['localhost'], validity);
  const refusal = { status: 403, body: 'alice has no permission\n' } as const;
  const gate = { check: async () => refusal, logIn: async () => refusal, logOut: () => refusal };
  const hub = new Hub(() => ({ at: 0 }) as never);
  const common = { port: 0, clock: realClock, hub, details: {} as never, signal: end.signal };
  const server = await startDashboard({ ...common, remote: { host: '127.0.0.1', pair, gate } });
  onTestFinished(() => server.close());
  const asked = await Promise.all([
    ask(`${server.url}machines`),
    ask(`${server.url}machines`, bearer('t')),
    ask(`${server.url}live`),
  ]);
  const form = expect.stringMatching(/alice has no permission<[\s\S]*<form method="post"/);
  expect(asked.map(({ status, body }) => [status, body])).toEqual([
    [403, form],
    [403, refusal.body],
    [403, refusal.body],
  ]);
});

test('every address except 127.0.0.1 needs a login', () => {
  expect(['127.0.0.1', '0.0.0.0', '::', '::1', '10.0.0.1'].filter(isLoopback)).toEqual(['127.0.0.1']);
  expect(() => isLoopback('example.com')).toThrow('--listen example.com: must be an IP address');
});

test('a missing certificate is an error that names the flag', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcm-dashboard-'));
  const remote = { host: '127.0.0.1', certificates: folder };
  const options = { random: seededRandom(1), signal: end.signal, port: 0, remote };
  await expect(serveDashboard(cluster, options)).rejects.toThrow(`--tls-cert-dir ${folder}: must contain tls.crt`);
  rmSync(folder, { recursive: true });
});
