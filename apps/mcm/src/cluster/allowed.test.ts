import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, machineDeployments, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, KubeError, nodes, realClock, seededRandom } from '@mcm/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProgram } from '../program.ts';
import { ifAllowed, needsText } from './allowed.ts';

const NS = 'shoot';
let plane: ControlPlane;
let client: KubeClient;
let folder: string;

const post = (path: string, body: object): Promise<unknown> => client.request('POST', path, { body });

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

async function admit(name: string, inNamespace: readonly Rule[], everywhere: readonly Rule[]): Promise<void> {
  const accounts = `/api/v1/namespaces/${NS}/serviceaccounts`;
  await post(accounts, { metadata: { name } });
  const apiGroup = 'rbac.authorization.k8s.io';
  const grant = async (kind: string, path: string, rules: readonly Rule[]): Promise<void> => {
    const plural = `${path}${kind.toLowerCase()}`;
    await post(`/apis/${apiGroup}/v1/${plural}s`, { metadata: { name }, rules });
    const subjects = [{ kind: 'ServiceAccount', name, namespace: NS }];
    await post(`/apis/${apiGroup}/v1/${plural}bindings`, {
      metadata: { name },
      roleRef: { apiGroup, kind, name },
      subjects,
    });
  };
  await grant('Role', `namespaces/${NS}/`, inNamespace);
  await grant('ClusterRole', '', everywhere);
  const { status } = (await post(`${accounts}/${name}/token`, { spec: {} })) as { status: { token: string } };
  // A client certificate would take precedence over the token, so the test removes the certificate.
  const withToken = plane.kubeconfig().replaceAll(plane.adminToken, status.token);
  writeFileSync(join(folder, name), withToken.replace(/^\s+client-(certificate|key)-data: .*\n/gm, ''));
}

const READ = ['get', 'list', 'watch'];

function documentedRules(role: string): readonly Rule[] {
  const page = readFileSync(new URL('../../../../docs/permissions.md', import.meta.url), 'utf8');
  const [, verbs = '', kinds = ''] =
    new RegExp(`create ${role} mcm-read --verb=(\\S+) --resource=(\\S+)`).exec(page) ?? [];
  return kinds.split(',').map((kind) => {
    const [resource = '', ...group] = kind.split('.');
    return { apiGroups: [group.join('.')], resources: [resource], verbs: verbs.split(',') };
  });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mcm-allowed-'));
  plane = await startControlPlane({ crds, controllers: false, port: 0 });
  client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  await post('/api/v1/namespaces', { metadata: { name: NS } });
  const resources = ['machinedeployments', 'machinesets', 'machines'];
  await admit('little', [{ apiGroups: ['machine.sapcloud.io'], resources, verbs: READ }], []);
  await admit('least', [{ apiGroups: ['machine.sapcloud.io'], resources: ['machinedeployments'], verbs: READ }], []);
  await admit('documented', documentedRules('role'), documentedRules('clusterrole'));
  const labels = { pool: 'web' };
  const spec = { class: { kind: 'MachineClass', name: 'small' } };
  const deployment = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineDeployment',
    metadata: { name: 'web', namespace: NS },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
  await client.resource(machineDeployments, NS).create(deployment as never);
  writeFileSync(join(folder, 'web.json'), JSON.stringify(deployment));
  const metadata = { name: 'm-0', namespace: NS, labels: { node: 'ip-10' } };
  await client.resource(machines, NS).create({ metadata, spec } as never);
  await client.resource(nodes).create({ metadata: { name: 'ip-10' }, spec: {} });
});
afterAll(async () => {
  await plane.close();
  rmSync(folder, { recursive: true });
});

function begin(user: string, ...words: string[]) {
  const [said, warned]: [string[], string[]] = [[], []];
  const program = createProgram({
    say: (line) => said.push(line),
    random: seededRandom(1),
    signal: () => new AbortController().signal,
    stdout: process.stdout,
  });
  program.exitOverride().configureOutput({ writeErr: (text) => warned.push(text) });
  const done = program.parseAsync([...words, '-n', NS, '--kubeconfig', join(folder, user)], { from: 'user' });
  return { said, warned, done };
}

async function run(user: string, ...words: string[]): Promise<{ out: string; err: string }> {
  const { said, warned, done } = begin(user, ...words);
  await done;
  process.exitCode = undefined;
  return { out: said.join('\n'), err: warned.join('') };
}

describe('without permission to read some kinds', () => {
  test('the tree contains the names of the nodes, and says that they could not be read', async () => {
    const { out, err } = await run('little', 'tree');
    expect(out).toMatch(
      /^machine\/m-0 .*\n└─ node\/ip-10 {2}the node could not be read\n\nNo permission to read:\n {2}- .*list resource "nodes"/m,
    );
    expect(out).toContain('(grant the roles mcm-read, see docs/permissions.md, "The mcm command")');
    expect(err).toBe('');
  });

  test('JSON output contains only the tree, and standard error contains the missing permissions', async () => {
    const { out, err } = await run('little', 'tree', '-o', 'json');
    expect(JSON.parse(out)).toMatchObject([{ name: 'web' }, { children: [{ state: 'the node could not be read' }] }]);
    expect(err).toMatch(/No permission to read:\n {2}- .*list resource "nodes"/);
  });

  test('explain works without classes and nodes', async () => {
    const { out } = await run('little', 'explain', 'machinedeployment/web');
    expect(out).toMatch(/^ {2}next {3}\S/m);
    expect(out).toMatch(
      /No permission to read:\n( {2}- .*list resource "(machineclasses|nodes)".*\n){2} {2}\(grant the roles mcm-read, see docs/,
    );
  });

  test('explain uses the status of a deployment if the user cannot read its sets and machines', async () => {
    const { out } = await run('least', 'explain', 'machinedeployment/web');
    expect(out).toMatch(/^ {2}has {4}0 machines, 0 of the newest MachineSet, 0 available, according to its status$/m);
    expect(out).toMatch(/^ {2}next {3}unknown: no permission to read the sets and machines$/m);
    expect(out).toMatch(/^ {2}- .*list resource "machinesets".*\n {2}- .*list resource "machines"/m);
    expect(out).toContain('  (grant the roles mcm-read, see docs/permissions.md, "The mcm command")');
  });

  test('the tree shows the kinds that the user can read', async () => {
    const { out } = await run('least', 'tree');
    expect(out).toMatch(/^machinedeployment\/web .*\n\nNo permission to read:\n( {2}- .*\n){3} {2}\(grant the roles/);
  });

  test('a drain preview without access to the pods prints the known part and exits with an error', async () => {
    const { said, done } = begin('little', 'drain', '--preview', 'm-0');
    await expect(done).rejects.toThrow('cannot show the drain of machine m-0: no permission to read some objects');
    expect(said.join('\n')).toMatch(/^machine m-0 has node ip-10\n\nNo permission to read:\n {2}- /);
  });

  test('events name the missing permission', async () => {
    await expect(run('little', 'events')).rejects.toThrow(
      /; the credentials need the permission list events in namespace shoot \(docs/,
    );
  });

  test('a change names the missing permission', async () => {
    await expect(run('little', 'rollout', 'pause', 'web')).rejects.toThrow(
      /; the credentials need the permission patch machinedeployments\.machine\.sapcloud\.io in namespace shoot \(docs/,
    );
  });
});

test.each([
  ['tree'],
  ['explain', 'machinedeployment/web'],
  ['explain', 'machine/m-0'],
  ['events'],
  ['drain', '--preview', 'm-0'],
  ['rollout', 'status', 'web', '--no-watch'],
  ['rollout', 'history', 'web'],
  ['plan', '-f', 'web.json'],
])('the documented roles are sufficient for mcm %s %s', async (...words) => {
  const { out, err } = await run(
    'documented',
    ...words.map((word) => word.replace('web.json', join(folder, 'web.json'))),
  );
  expect(out).not.toMatch(/no permission|could not|forbidden|cannot (get|list|read)/i);
  expect(err).toBe('');
});

test('an error other than Forbidden is returned unchanged', async () => {
  const [gone, unread] = [new KubeError('the server is gone', { code: 0 }), new Set<string>()];
  await expect(ifAllowed(Promise.reject(gone), unread)).rejects.toBe(gone);
  expect(unread.size).toBe(0);
  expect(needsText(new KubeError('no such kind', { code: 404 }))).toBe(
    'permission for the refused request (no such kind)',
  );
});
