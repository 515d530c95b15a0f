import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, namespaces, realClock, seededRandom } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { createProgram } from '../program.ts';

test('mcm tree --fleet -w prints the clusters until the end, and refuses a name', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'mcm-tree-'));
  const plane = await startControlPlane({ port: 0, clock: realClock, crds, controllers: false });
  onTestFinished(async () => {
    await plane.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(kubeconfig, plane.kubeconfig(), { mode: 0o600 });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  await client.resource(namespaces).create({ metadata: { name: 'shoot--a', labels: { 'mcm-fleet': 'aws' } } });
  await client
    .resource(machines, 'shoot--a')
    .create({ metadata: { name: 'm-1' }, spec: { class: { kind: 'MachineClass', name: 'small' } } } as never);
  const end = new AbortController();
  const said: string[] = [];
  const run = (...words: readonly string[]): Promise<unknown> =>
    createProgram({
      say: (line) => {
        said.push(line);
        if (line.includes('m-1')) end.abort(new Error('enough'));
      },
      random: seededRandom(1),
      signal: () => end.signal,
      stdout: process.stdout,
    })
      .exitOverride()
      .parseAsync(['node', 'mcm', 'tree', '--kubeconfig', kubeconfig, ...words]);
  await expect(run('--fleet', '-w')).rejects.toThrow('enough');
  expect(said.join('\n')).toMatch(/cluster\/shoot--a .*no process holds the Lease[\s\S]*machine\/m-1/);
  await expect(run('web', '--fleet')).rejects.toThrow('--fleet can be used only with --all, -n, -o, -w and');
});

test('mcm tree without permission for all of its kinds is an error that names the permission', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'mcm-tree-'));
  const plane = await startControlPlane({ port: 0, clock: realClock, crds, controllers: false });
  onTestFinished(async () => {
    await plane.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const kubeconfig = join(dir, 'kubeconfig');
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await client.request('POST', accounts, {
    body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'eve' } },
  });
  const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const answer = await client.request('POST', `${accounts}/eve/token`, { body: asked });
  const { token } = (answer as { status: { token: string } }).status;
  const own = plane
    .kubeconfig()
    .replace(/^ +client-(certificate|key)-data: .*\n/gm, '')
    .replace(/token: .*/, `token: ${token}`);
  writeFileSync(kubeconfig, own, { mode: 0o600 });
  const said: string[] = [];
  const { signal } = new AbortController();
  const program = createProgram({
    say: (line) => said.push(line),
    random: seededRandom(1),
    signal: () => signal,
    stdout: process.stdout,
  });
  const run = program.exitOverride().parseAsync(['node', 'mcm', 'tree', '--kubeconfig', kubeconfig]);
  await expect(run).rejects.toThrow(
    /serviceaccount:default:eve" cannot list .*need the permission list machinedeployments/,
  );
  expect(said).toEqual([]);
});
