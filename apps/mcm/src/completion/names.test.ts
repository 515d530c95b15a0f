import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Annotations, crds, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, leases, namespaces, VirtualClock } from '@mcm/kube';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createProgram } from '../program.ts';
import { completionScript } from './completion.ts';
import { completions } from './kubectl.ts';
import { namesFor } from './names.ts';

let dir: string;
let plane: Awaited<ReturnType<typeof startControlPlane>>;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'mcm-names-'));
  const clock = new VirtualClock();
  plane = await startControlPlane({ port: 0, clock, crds, controllers: false });
  writeFileSync(join(dir, 'kubeconfig'), plane.kubeconfig(), { mode: 0o600 });
  mkdirSync(join(dir, 'logs'));
  writeFileSync(join(dir, 'logs', 'control-plane.log'), '');
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const template = { metadata: { labels: { a: 'b' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } };
  for (const name of ['web', 'workers'])
    await client.resource<MachineDeployment>(machineDeployments, 'default').create({
      metadata: { name, annotations: name === 'web' ? { [Annotations.Zones]: '[{"zone":"a"},{"zone":"b"}]' } : {} },
      spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template },
    } as never);
  await client
    .resource(machines, 'default')
    .create({ metadata: { name: 'm-0' }, spec: { class: { kind: 'MachineClass', name: 'small' } } } as never);
  await client.resource(namespaces).create({ metadata: { name: 'shoot--a', labels: { 'mcm-fleet': 'aws' } } });
  await client
    .resource(machines, 'shoot--a')
    .create({ metadata: { name: 'm-1' }, spec: { class: { kind: 'MachineClass', name: 'small' } } } as never);
  for (const replica of ['0', '1'])
    await client.resource(leases, 'default').create({ metadata: { name: `machine-controller-fleet-${replica}` } });
});
afterAll(async () => {
  await plane.close();
  rmSync(dir, { recursive: true, force: true });
});

const program = createProgram({
  say: () => undefined,
  random: { next: () => 0.5 },
  signal: () => new AbortController().signal,
  stdout: process.stdout,
});
const complete = (words: readonly string[]) => completions(program, words);

test.each([
  [
    ['rollout', 'status', 'w'],
    ['web', 'workers'],
  ],
  [['rollout', 'undo', 'wo'], ['workers']],
  [
    ['explain', 'mach'],
    ['machinedeployment/web', 'machinedeployment/workers', 'machine/m-0'],
  ],
  [['explain', 'machine/'], ['machine/m-0']],
  [['explain', 'machinedeployment', 'wo'], ['workers']],
  [
    ['drain', '--preview', 'm'],
    ['m-0', 'machine/m-0'],
  ],
  [['tree', '-n', 'kube-s'], ['kube-system']],
  [['tree', '--namespace=kube-s'], ['kube-system']],
  [['explain', '--namespace=shoot--a', 'machine/'], ['machine/m-1']],
  [['tree', '-A', 'wo'], ['workers']],
  [
    ['zone', 'evacuate', ''],
    ['a', 'b'],
  ],
  [['zone', 'return', '-A', 'b'], ['b']],
  [['zone', 'list', '--deployment', 'we'], ['web']],
  [
    ['fleet', 'drain', ''],
    ['0', '1'],
  ],
  [
    ['fleet', 'move', 'shoot', '--to', ''],
    ['0', '1'],
  ],
  [['fleet', 'move', ''], ['shoot--a']],
  [['tree', '--cluster', 's'], ['shoot--a']],
  [['explain', 'shoot--a/'], ['shoot--a/machine/m-1']],
  [['explain', 'shoot--b/'], []],
  [['logs', ''], ['control-plane']],
])('offers the names in the cluster for mcm %j', async ([first = '', ...rest], expected) => {
  const flags = first === 'logs' ? ['--data-dir', dir] : ['--kubeconfig', join(dir, 'kubeconfig')];
  const words = ['rollout', 'zone', 'fleet'].includes(first)
    ? [first, rest[0] ?? '', ...flags, ...rest.slice(1)]
    : [first, ...flags, ...rest];
  expect(await complete(words)).toEqual([...expected, ':4']);
});

test('offers the contexts of the kubeconfig, and no names without a cluster', async () => {
  const file = join(dir, 'contexts');
  writeFileSync(file, 'contexts: [{name: prod}, {name: test}]');
  expect(await complete(['tree', '--kubeconfig', file, '--context', 'p'])).toEqual(['prod', ':4']);
  expect(await complete(['tree', '--kubeconfig', join(dir, 'absent'), ''])).toEqual([':4']);
});

test('offers the machines of the local instance for logs and interruptions', async () => {
  expect(await complete(['cloud', 'interrupt', '--data-dir', dir, ''])).toEqual(['m-0', 'machine/m-0', ':4']);
  expect(await complete(['logs', '--data-dir', dir, '--machine', ''])).toEqual(['m-0', ':4']);
});

describe('a slow API server', () => {
  /** Creates an API server that waits with its responses until the test allows them. */
  async function slow() {
    const asked = Promise.withResolvers<ServerResponse>();
    const server = createServer((_request, response) => asked.resolve(response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const file = join(dir, 'slow');
    const { port } = server.address() as AddressInfo;
    const cluster = { server: `http://127.0.0.1:${port}` };
    const names = { clusters: [{ name: 'c', cluster }], users: [{ name: 'u', user: { token: 't' } }] };
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
    writeFileSync(file, JSON.stringify({ 'current-context': 'c', contexts, ...names }));
    const clock = new VirtualClock();
    const line = { path: 'drain', before: ['drain', 'machine', '--kubeconfig', file, 'machine'], begun: '' };
    return { clock, asked: asked.promise, names: namesFor(line, clock) };
  }

  test('offers the names of an answer after several seconds', async () => {
    const { clock, asked, names } = await slow();
    const response = await asked;
    await clock.advance(8_000);
    const items = [{ metadata: { name: 'm-7', resourceVersion: '1', uid: 'u' }, spec: {} }];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ kind: 'MachineList', metadata: { resourceVersion: '1' }, items }));
    expect(await names).toEqual(['m-7']);
  });

  test('offers no names if the API server does not answer', async () => {
    const { clock, asked, names } = await slow();
    await asked;
    await clock.advance(10_000);
    expect(await names).toEqual([]);
  });
});

test('offers the providers of up', async () => {
  expect(await complete(['up', '--provider', 'a'])).toEqual(['aws', 'azure', ':4']);
});

test('bash asks the command for names', () => {
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'mcm'), '#!/bin/sh\necho "name-for-$*" | tr " " -\necho :4\n');
  chmodSync(join(bin, 'mcm'), 0o755);
  const offered = (...words: string[]): string => {
    const script = `${completionScript(program, 'bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mcm; printf '%s ' "\${COMPREPLY[@]}"`;
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    return execFileSync('bash', ['--norc', '-c', script, 'bash', 'mcm', ...words], { encoding: 'utf8', env }).trim();
  };
  expect(offered('rollout', 'status', 'na')).toBe('name-for-__complete-rollout-status-na');
  expect(offered('tree', '--context', '')).toBe('name-for-__complete-tree---context-');
  expect(offered('tree', '--outp')).toBe('--output');
  // Bash splits the words of a command line at "=".
  expect(offered('tree', '--context', '=', 'na')).toBe('name-for-__complete-tree---context=na');
  expect(offered('tree', '--namespace', '=', 'a', 'na')).toBe('name-for-__complete-tree---namespace=a-na');
});
