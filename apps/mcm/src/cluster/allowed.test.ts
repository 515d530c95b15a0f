import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, machineDeployments, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { createClient, handlerTransport, type KubeClient, KubeError, nodes, realClock, seededRandom } from '@mcm/kube';
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

/** Makes a user who may do these things in the namespace, and these everywhere, and writes their kubeconfig. */
async function admit(name: string, inNamespace: readonly Rule[], everywhere: readonly Rule[]): Promise<void> {
  const accounts = `/api/v1/namespaces/${NS}/serviceaccounts`;
  await post(accounts, { metadata: { name } });
  const apiGroup = 'rbac.authorization.k8s.io';
  const grant = async (kind: string, path: string, rules: readonly Rule[]): Promise<void> => {
    const plural = `${path}${kind.toLowerCase()}`;
    await post(`/apis/${apiGroup}/v1/${plural}s`, { metadata: { name }, rules });
    const subjects = [{ kind: 'ServiceAccount', name, namespace: NS }];
    await post(`/apis/${apiGroup}/v1/${plural}bindings`, {
      ...{ metadata: { name }, roleRef: { apiGroup, kind, name }, subjects },
    });
  };
  await grant('Role', `namespaces/${NS}/`, inNamespace);
  await grant('ClusterRole', '', everywhere);
  const { status } = (await post(`${accounts}/${name}/token`, { spec: {} })) as { status: { token: string } };
  writeFileSync(join(folder, name), plane.kubeconfig().replaceAll(plane.adminToken, status.token));
}

const READ = ['get', 'list', 'watch'];

/** The rules that a `kubectl create role` of the documentation makes. */
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
  client = createClient({ transport: handlerTransport(plane.fetch), userAgent: 'test', clock: realClock });
  await post('/api/v1/namespaces', { metadata: { name: NS } });
  const resources = ['machinedeployments', 'machinesets', 'machines'];
  await admit('little', [{ apiGroups: ['machine.sapcloud.io'], resources, verbs: READ }], []);
  await admit('least', [{ apiGroups: ['machine.sapcloud.io'], resources: ['machinedeployments'], verbs: READ }], []);
  await admit('documented', documentedRules('role'), documentedRules('clusterrole'));
  const labels = { pool: 'web' };
  const spec = { class: { kind: 'MachineClass', name: 'small' } };
  const deployment = {
    ...{ apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'MachineDeployment' },
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

describe('of what may not be read', () => {
  test('the tree names the nodes all the same, and says that they are not known', async () => {
    const { out, err } = await run('little', 'tree');
    expect(out).toMatch(
      /^machine\/m-0 .*\n└─ node\/ip-10 {2}could not be read\n\nMay not be read:\n {2}- .*list resource "nodes"/m,
    );
    expect(out).toContain('(roles mcm-read of docs/permissions.md, "The mcm command", allow it)');
    expect(err).toBe('');
  });

  test('a program that reads the tree gets the tree alone, and its user is told', async () => {
    const { out, err } = await run('little', 'tree', '-o', 'json');
    expect(JSON.parse(out)).toMatchObject([{ name: 'web' }, { children: [{ state: 'could not be read' }] }]);
    expect(err).toMatch(/May not be read:\n {2}- .*list resource "nodes"/);
  });

  test('explain goes on without classes and nodes', async () => {
    const { out } = await run('little', 'explain', 'machinedeployment/web');
    expect(out).toMatch(/^ {2}next {3}\S/m);
    expect(out).toMatch(
      /May not be read:\n( {2}- .*list resource "(machineclasses|nodes)".*\n){2} {2}\(roles mcm-read of docs/,
    );
  });

  test('explain tells of a deployment what it says itself where its sets and machines may not be read', async () => {
    const { out } = await run('least', 'explain', 'machinedeployment/web');
    expect(out).toMatch(/^ {2}has {4}0 machines, 0 of the newest set, 0 available, as its status says$/m);
    expect(out).toMatch(/^ {2}next {3}not known: its sets and machines may not be read$/m);
    expect(out).toMatch(/^ {2}- .*list resource "machinesets".*\n {2}- .*list resource "machines"/m);
    expect(out).toContain('  (roles mcm-read of docs/permissions.md, "The mcm command", allow it)');
  });

  test('the tree goes on with the kinds that may be read', async () => {
    const { out } = await run('least', 'tree');
    expect(out).toMatch(/^machinedeployment\/web .*\n\nMay not be read:\n( {2}- .*\n){3} {2}\(roles/);
  });

  test('a drain whose pods may not be read is told as far as it is known, and ends as a failure', async () => {
    const { said, done } = begin('little', 'drain', '--preview', 'm-0');
    await expect(done).rejects.toThrow(
      'what a drain of machine m-0 would do is not known: not all it depends on may be read',
    );
    expect(said.join('\n')).toMatch(/^machine m-0 has node ip-10\n\nMay not be read:\n {2}- /);
  });

  test('events say what has to be allowed', async () => {
    await expect(run('little', 'events')).rejects.toThrow(
      /; these credentials need list events in namespace shoot \(docs/,
    );
  });

  test('and so does a change', async () => {
    await expect(run('little', 'rollout', 'pause', 'web')).rejects.toThrow(
      /; these credentials need patch machinedeployments\.machine\.sapcloud\.io in namespace shoot \(docs/,
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
])('the documented roles are all that is needed for mcm %s %s', async (...words) => {
  const { out, err } = await run(
    'documented',
    ...words.map((word) => word.replace('web.json', join(folder, 'web.json'))),
  );
  expect(out).not.toMatch(/may not|could not|forbidden|cannot/i);
  expect(err).toBe('');
});

test('what is no matter of permission is told as it is', async () => {
  const [gone, unread] = [new KubeError('the server is gone', { code: 0 }), new Set<string>()];
  await expect(ifAllowed(Promise.reject(gone), unread)).rejects.toBe(gone);
  expect(unread.size).toBe(0);
  expect(needsText(new KubeError('no such kind', { code: 404 }))).toBe('what the API server refuses (no such kind)');
});
