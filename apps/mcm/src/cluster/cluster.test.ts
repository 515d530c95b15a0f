import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { KubeError } from '@mcm/kube';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openDataDir } from '../instance/data-dir.ts';
import { silentProgramsOf } from '../instance/local-instance.ts';
import { connect, findKubeconfigs, inWords } from './cluster.ts';

let dir: string;
let one: string;
let other: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'mcm cluster '));
  one = join(dir, 'one');
  other = join(dir, 'other');
  for (const file of [one, other]) writeFileSync(file, '');
});
afterAll(() => rmSync(dir, { recursive: true }));

const flags = { dataDir: '/none', namespace: 'default' };
const found = (list: string): readonly string[] => findKubeconfigs(flags, { KUBECONFIG: list }, '/none');

test('all files of $KUBECONFIG are used, as in kubectl', () => {
  expect(found(one)).toEqual([one]);
  expect(found(['/none/a', '', one].join(delimiter))).toEqual(['/none/a', one]);
});

test('the namespace comes from the flag, else from the context, else it is default', async () => {
  const context = (name: string, namespace?: string) => ({ name, context: { cluster: 'c', namespace } });
  const clusters = [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }];
  writeFileSync(one, JSON.stringify({ clusters }));
  const contexts = [context('plain'), context('garden', 'shoot')];
  writeFileSync(other, JSON.stringify({ 'current-context': 'plain', contexts }));
  const namespaceOf = async (more: object): Promise<string> => {
    const cluster = await connect({ dataDir: '/none', ...more }, 'test', { KUBECONFIG: [one, other].join(delimiter) });
    await cluster.close();
    return cluster.namespace;
  };
  expect(await namespaceOf({})).toBe('default');
  expect(await namespaceOf({ context: 'garden' })).toBe('shoot');
  expect(await namespaceOf({ context: 'garden', namespace: 'mine' })).toBe('mine');
});

test('an error names the cluster that does not respond, and says when a local instance does not run', () => {
  const error = new KubeError('GET /api/v1/nodes: no answer: connect ECONNREFUSED 127.0.0.1:1', { code: 0 });
  const reported = (kubeconfig: string, dataDir: string): string =>
    String(inWords(error, { kubeconfig, dataDir, namespace: 'default' }));
  expect(reported('a.yaml', '.mcm')).toBe(
    `UserError: the cluster of kubeconfig a.yaml does not respond (${error.message})`,
  );
  expect(reported('./.mcm/kubeconfig', '.mcm')).toBe(
    `UserError: the cluster of kubeconfig ./.mcm/kubeconfig does not respond; the local instance is not running; start the instance with: mcm up (${error.message})`,
  );
});

test('a running local instance whose control plane does not respond is not reported as stopped', () => {
  const path = mkdtempSync(join(tmpdir(), 'mcm-silent-'));
  const data = openDataDir(join(path, '.mcm'));
  onTestFinished(() => {
    data.release();
    rmSync(path, { recursive: true });
  });
  const since = '2026-01-01T00:00:00.000Z';
  const silent = [{ name: 'control-plane', since, pid: 7 }];
  data.write({ format: 1, pid: 5, startedAt: since, silent });
  const error = new KubeError('GET /api/v1/nodes: no answer', { code: 0 });
  const text = String(inWords(error, { kubeconfig: data.file('kubeconfig'), dataDir: data.path }));
  expect(text).toContain(
    `(process 5) does not respond, so all controllers are stopped. The last response was at ${since} (`,
  );
  expect(text).toContain('To restart the process, run: kill -9 7');
  expect(silentProgramsOf(data.path)).toMatchObject([{ name: 'control-plane', state: 'stopped', since }]);
});

test('an answer that is not from a Kubernetes API server gets a hint', () => {
  const error = new KubeError('GET /api/v1/nodes: the answer (57 characters) is not JSON', {
    code: 0,
    reason: 'BadAnswer',
  });
  expect(String(inWords(error, { ...flags, kubeconfig: 'a.yaml' }))).toBe(
    `UserError: the cluster of kubeconfig a.yaml does not respond: the server at the address is not a Kubernetes API server: correct the address (${error.message})`,
  );
});

test.each([
  ['machine.sapcloud.io', 'has no machines'],
  ['machineconfiguration.openshift.io', 'has no machine configs'],
])('a cluster without the CRDs of %s is reported with the command that installs them', (group, has) => {
  const error = new KubeError(`GET /apis/${group}/v1/things: 404 page not found`, { code: 404 });
  expect(String(inWords(error, { ...flags, kubeconfig: 'a.yaml' }))).toBe(
    `UserError: the cluster of kubeconfig a.yaml ${has}: CRDs of ${group} are missing; see: mcm install --help (${error.message})`,
  );
});

test('any other error is returned unchanged', () => {
  const error = new KubeError('forbidden', { code: 403 });
  expect(inWords(error, flags)).toBe(error);
});

test('a refusal names the missing permission', () => {
  const words = (scope: string) =>
    `GET /x: events is forbidden: User "eve" cannot list resource "events" in API group "" ${scope}`;
  const reported = (scope: string): string => String(inWords(new KubeError(words(scope), { code: 403 }), flags));
  const inNamespace = 'in the namespace "shoot"';
  expect(reported(inNamespace)).toMatch(
    `${words(inNamespace)}; the credentials need the permission list events in namespace shoot (docs/`,
  );
  expect(reported('at the cluster scope')).toMatch('; the credentials need the permission list events (docs/');
});
