import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, VirtualClock } from '@mcm/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createProgram } from '../program.ts';
import { completionScript } from './completion.ts';
import { completions } from './kubectl.ts';

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
      metadata: { name },
      spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template },
    } as never);
  await client
    .resource(machines, 'default')
    .create({ metadata: { name: 'm-0' }, spec: { class: { kind: 'MachineClass', name: 'small' } } } as never);
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
  [['tree', '-A', 'wo'], ['workers']],
  [['logs', ''], ['control-plane']],
])('offers the names in the cluster for mcm %j', async ([first = '', ...rest], expected) => {
  const flags = first === 'logs' ? ['--data-dir', dir] : ['--kubeconfig', join(dir, 'kubeconfig')];
  const words = first === 'rollout' ? [first, rest[0] ?? '', ...flags, ...rest.slice(1)] : [first, ...flags, ...rest];
  expect(await complete(words)).toEqual([...expected, ':4']);
});

test('offers the contexts of the kubeconfig, and no names without a cluster', async () => {
  const file = join(dir, 'contexts');
  writeFileSync(file, 'contexts: [{name: prod}, {name: test}]');
  expect(await complete(['tree', '--kubeconfig', file, '--context', 'p'])).toEqual(['prod', ':4']);
  expect(await complete(['tree', '--kubeconfig', join(dir, 'absent'), ''])).toEqual([':4']);
});

test('offers the machines of the local instance for the flag of logs', async () => {
  expect(await complete(['logs', '--data-dir', dir, '--machine', ''])).toEqual(['m-0', ':4']);
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
});
