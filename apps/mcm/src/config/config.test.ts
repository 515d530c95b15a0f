import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, VirtualClock } from '@mcm/kube';
import { machineConfigCrds, machineConfigPools, machineConfigs } from '@mcm/machine-config';
import { Command } from 'commander';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addConfig } from './command.ts';
import { changeLines, problemsOf, renderPaths, storedObjects } from './offline.ts';
import { compareWithCluster } from './run.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'config-'));
});
afterEach(async () => {
  process.exitCode = undefined;
  await rm(directory, { recursive: true });
});

const put = (name: string, text: string) => writeFile(join(directory, name), text);
const FILE = (text: string) => `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 50-motd
  labels: { machineconfiguration.openshift.io/role: worker }
spec:
  config:
    ignition: { version: 3.5.0 }
    storage: { files: [{ path: /etc/motd, mode: 420, contents: { source: "data:,${text}" } }] }
`;

async function run(...argv: string[]): Promise<{ lines: readonly string[]; code: typeof process.exitCode }> {
  const lines: string[] = [];
  const program = new Command('mcm').exitOverride();
  addConfig(program, {
    say: (line) => void lines.push(...line.split('\n')),
    warn: () => undefined,
    draw: (text) => text,
    random: { next: () => 0.5 },
    signal: () => new AbortController().signal,
  });
  await program.parseAsync(['node', 'mcm', 'config', ...argv]);
  return { lines, code: process.exitCode };
}

test('a directory of YAML is rendered with the templates of the controller', async () => {
  await put('a.yaml', FILE('hello'));
  await put('notes.txt', 'not read');
  const { lines } = await run('render', directory, '--pool', 'worker');
  expect(lines[0]).toBe('# Sources: 00-worker, 01-worker-container-runtime, 01-worker-kubelet, 50-motd');
  expect(lines.join('\n')).toMatch(/name: rendered-worker-[0-9a-f]{32}/);
  expect(lines.join('\n')).toContain('path: /etc/kubernetes/kubelet.conf');
});

test('diff shows the changes between two directories, and the exit code says whether there are any', async () => {
  await put('old.yaml', FILE('hello'));
  await put('new.yaml', FILE('bye'));
  const [old, now] = [join(directory, 'old.yaml'), join(directory, 'new.yaml')];
  expect(await run('diff', old, '--against', old)).toEqual({ lines: [], code: 0 });
  expect(await run('diff', now, '--against', old)).toEqual({
    lines: ['pool worker', '  ~ file /etc/motd', '        mode 0644', '      - hello', '      + bye'],
    code: 1,
  });
  // The files can also follow -f, as in kubectl. The files of `--against` are a separate list.
  expect(await run('diff', '-f', old, '--against', old)).toEqual({ lines: [], code: 0 });
  expect((await run('diff', '-f', old, '-f', now, '--against', old)).code).toBe(1);
  await put('bad.yaml', FILE('x').replace('420', '9999'));
  expect((await run('diff', join(directory, 'bad.yaml'), '--against', old)).code).toBe(2);
});

test('render and diff without a path name the missing path', async () => {
  await expect(run('render')).rejects.toThrow('a path is required');
  await expect(run('diff', '--against', directory)).rejects.toThrow('a path is required');
  expect(process.exitCode).toBe(2);
});

test('an unreadable file is named', async () => {
  await put('bad.yaml', 'a: [');
  await expect(renderPaths({ paths: [directory] })).rejects.toThrow(`${directory}/bad.yaml`);
  await expect(renderPaths({ paths: [join(directory, 'nowhere')] })).rejects.toThrow('nowhere does not exist');
  await put('bad.yaml', 'just text');
  await expect(renderPaths({ paths: [directory] })).rejects.toThrow('not a Kubernetes object');
  await put('bad.yaml', FILE('x'));
  await expect(renderPaths({ paths: [directory], pool: 'infra' })).rejects.toThrow('pool infra does not exist');
  await put('bad.yaml', FILE('x').replace('420', '99999'));
  expect(problemsOf(await renderPaths({ paths: [directory] }))).toMatchObject([
    expect.stringContaining('pool worker: '),
  ]);
});

test('diff with a cluster renders the objects of the cluster, replaced by those of the files', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds: [...machineConfigCrds], controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  try {
    const configs = client.resource(machineConfigs);
    const stored = async (name: string, path: string) =>
      configs.create({
        metadata: { name, labels: { 'machineconfiguration.openshift.io/role': 'worker' } },
        spec: {
          config: {
            ignition: { version: '3.5.0' },
            storage: { files: [{ path, mode: 420, contents: { source: 'data:,old' } }] },
          },
        },
      });
    await stored('50-motd', '/etc/motd');
    await stored('60-other', '/etc/other');
    await client.resource(machineConfigPools).create({
      metadata: { name: 'worker' },
      spec: { machineConfigSelector: { matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' } } },
    });
    await put('same.yaml', FILE('old'));
    const paths = [join(directory, 'same.yaml')];
    const first = await compareWithCluster(client, { paths });
    expect(changeLines(first).filter((line) => /\+ file \/etc\/(motd|other)/.test(line))).toHaveLength(2);
    const [made] = (await renderPaths({ paths, onto: await storedObjects(client) })).pools;
    if (!made?.machineConfig) throw new Error('the controller renders no configuration');
    const { ownerReferences: _none, ...metadata } = made.machineConfig.metadata;
    await configs.create({ ...made.machineConfig, metadata });
    const body = { spec: { configuration: { name: metadata.name } } };
    await client.resource(machineConfigPools).patch('worker', { type: 'merge', body });
    expect(await compareWithCluster(client, { paths })).toEqual([]);
    await put('same.yaml', FILE('new'));
    expect(changeLines(await compareWithCluster(client, { paths, pool: 'worker' }))).toEqual([
      ...['pool worker', '  ~ file /etc/motd', '        mode 0644', '      - old', '      + new'],
    ]);
    await put('same.yaml', FILE('x').replace('420', '9999'));
    await expect(compareWithCluster(client, { paths })).rejects.toThrow('pool worker: ');
  } finally {
    await plane.close();
  }
});
