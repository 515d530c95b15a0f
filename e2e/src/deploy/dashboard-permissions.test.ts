import { request } from 'node:https';
import { crds } from '@mcm/api';
import { DEFAULT_INSTALL, installSections, serveDashboard } from '@mcm/cli';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, handlerTransport, realClock, seededRandom } from '@mcm/kube';
import { machineConfigCrds } from '@mcm/machine-config';
import { expect, onTestFinished, test } from 'vitest';

const ACCOUNT = 'system:serviceaccount:default:mcm-dashboard';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const sections = installSections(DEFAULT_INSTALL).filter(({ name }) => name.startsWith('dashboard'));
const objects = sections.flatMap((section) => section.objects) as readonly {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string; readonly name: string };
  readonly rules?: readonly { readonly verbs: readonly string[]; readonly resources?: readonly string[] }[];
}[];

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
}

test('the account of the dashboard can read everything that the page shows, and users of its role can log in', async () => {
  const plane = await startControlPlane({ crds: [...crds, ...machineConfigCrds], controllers: false });
  onTestFinished(() => plane.close());
  const admin = createClient({ transport: plane.transport, userAgent: 'admin', clock: realClock });
  for (const object of objects) {
    const { kind, metadata } = object;
    const within = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
    if (/Role/.test(kind)) await admin.request('POST', `${RBAC}${within}/${kind.toLowerCase()}s`, { body: object });
    if (kind === 'ServiceAccount') await admin.request('POST', `/api/v1${within}/serviceaccounts`, { body: object });
  }
  const refused: string[] = [];
  const transport = handlerTransport(async (call) => {
    const headers = new Headers(call.headers);
    headers.set('impersonate-user', ACCOUNT);
    const answer = await plane.fetch(new Request(call, { headers }));
    if (answer.status === 403) refused.push(`${call.method} ${new URL(call.url).pathname}`);
    return answer;
  });
  const client = createClient({ transport, userAgent: 'dashboard', clock: realClock });
  const cluster = { client, target: client, namespace: 'default', close: async () => undefined };
  const end = new AbortController();
  const remote = { host: '127.0.0.1', certificates: undefined };
  const served = await serveDashboard(cluster, { random: seededRandom(1), signal: end.signal, port: 0, remote });
  onTestFinished(async () => {
    await served.close();
    end.abort(new Error('the test is over'));
  });
  const tokenOf = async (name: string): Promise<string> => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await admin.request('POST', accounts, { body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } } });
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    return (await admin.request<{ status: { token: string } }>('POST', `${accounts}/${name}/token`, { body })).status
      .token;
  };
  const [user, stranger] = [await tokenOf('user'), await tokenOf('stranger')];
  await admin.request('POST', `${RBAC}/clusterrolebindings`, {
    body: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'user' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'mcm-dashboard-users.default' },
      subjects: [{ kind: 'ServiceAccount', name: 'user', namespace: 'default' }],
    },
  });
  const ask = (path: string, token: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const call = request(new URL(path, served.url), { rejectUnauthorized: false, headers }, (answer) => {
        let body = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          body += part;
          // The event stream of the dashboard never ends, so the test stops when no kind is missing.
          if (body.includes('"gaps":[]')) call.destroy();
        });
        answer.once('close', () => resolve({ status: answer.statusCode, body }));
      });
      call.once('error', reject);
      call.end();
    });
  expect((await ask('/live', user)).body).toContain('"gaps":[]');
  expect(await ask('/machines', stranger)).toMatchObject({ status: 403 });
  expect(refused).toEqual([]);
});

test('the dashboard can write nothing, and read no Secrets', () => {
  const rules = objects.flatMap((object) => object.rules ?? []);
  const writes = rules.filter(({ verbs }) => verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)));
  expect(writes.flatMap(({ resources }) => resources)).toEqual(['tokenreviews', 'subjectaccessreviews']);
  expect(rules.flatMap(({ resources = [] }) => resources)).not.toContain('secrets');
});
