import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MachineClass, type MachineDeployment, machineClasses, machineDeployments } from '@mcm/api';
import { createClient, type KubeClient, loadKubeconfig, realClock, undiciTransport } from '@mcm/kube';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type McmRun, mcm, ROOT } from './harness/mcm.ts';

let cwd: string;
const started: McmRun[] = [];
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'mcm clouds '));
});
afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGTERM');
    await ended;
  }
  rmSync(cwd, { recursive: true, force: true });
});

const PATIENCE_MS = 600_000;
/** What a machine of the first class leaves in a cloud's bill. */
const PARTS = {
  aws: ['instance', 'volume'],
  azure: ['disk', 'instance', 'networkInterface'],
  gcp: ['disk', 'instance'],
};

const start = (...args: string[]): McmRun => {
  const run = mcm(args, { cwd });
  started.push(run);
  return run;
};
const run = (...args: string[]) => mcm(args, { cwd }).ended;

/** Kinds and names in the cloud, by its own listing. */
async function inCloud(): Promise<{ readonly kind: string; readonly name: string }[]> {
  const { stdout } = await run('cloud', 'list');
  return stdout
    .trim()
    .split('\n')
    .filter((line) => line !== 'nothing')
    .map((line) => line.split('  '))
    .map(([kind = '', name = '']) => ({ kind, name }))
    .toSorted((a, b) => `${a.kind} ${a.name}`.localeCompare(`${b.kind} ${b.name}`));
}

async function withClient(work: (client: KubeClient) => Promise<void>): Promise<void> {
  const transport = undiciTransport(await loadKubeconfig(join(cwd, '.mcm', 'kubeconfig')));
  await work(createClient({ transport, userAgent: 'mcm-e2e', clock: realClock }));
  await transport.close();
}

const scale = (name: string, replicas: number): Promise<void> =>
  withClient(async (client) => {
    const resource = client.resource<MachineDeployment>(machineDeployments, 'default');
    await resource.patch(name, { type: 'merge', body: { spec: { replicas } } });
  });

/** The class and the deployment of an example, as they stand there. */
const applyExample = (provider: string): Promise<void> =>
  withClient(async (client) => {
    const [machineClass, deployment] = parseAllDocuments(
      readFileSync(join(ROOT, 'examples', `${provider}.yaml`), 'utf8'),
    ).map((document): unknown => document.toJS());
    await client.resource<MachineClass>(machineClasses, 'default').create(machineClass as MachineClass);
    await client.resource<MachineDeployment>(machineDeployments, 'default').create(deployment as MachineDeployment);
  });

test.each(['aws', 'azure', 'gcp'] as const)(
  'mcm up --provider %s: three machines, a roll, none; and nothing is left in the cloud',
  {
    timeout: PATIENCE_MS,
  },
  async (provider) => {
    const up = start('up', `--provider=${provider}`, '--no-tty');
    await up.line(/^ready: 3 machines Running/);
    const first = await inCloud();
    const instances = (all: typeof first): string[] =>
      all.flatMap(({ kind, name }) => (kind === 'instance' ? [name] : [])).toSorted();
    expect([...new Set(first.map(({ kind }) => kind))].toSorted()).toEqual(PARTS[provider]);
    expect(instances(first)).toHaveLength(3);

    expect(await run('rollout', 'restart', 'workers')).toMatchObject({ code: 0 });
    expect(await run('rollout', 'status', 'workers')).toMatchObject({ code: 0 });
    const old = new Set(instances(first));
    await expect
      .poll(async () => instances(await inCloud()).filter((name) => old.has(name)), { timeout: PATIENCE_MS })
      .toEqual([]);
    expect(instances(await inCloud())).toHaveLength(3);

    await applyExample(provider);
    expect(await run('rollout', 'status', `${provider}-large`)).toMatchObject({ code: 0 });
    expect(instances(await inCloud())).toHaveLength(5);

    await scale('workers', 0);
    await scale(`${provider}-large`, 0);
    await expect.poll(inCloud, { timeout: PATIENCE_MS }).toEqual([]);

    const other = await run('up', `--provider=${provider === 'aws' ? 'gcp' : 'aws'}`, '--data-dir=.mcm');
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('another mcm') });
    up.child.kill('SIGTERM');
    expect(await up.ended).toMatchObject({ code: 0 });
    const wrong = await run('up', '--provider=local');
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/holds a fleet of \w+, not of local/) });
  },
);

test('a fleet in an emulated cloud is found again after everything was killed', { timeout: PATIENCE_MS }, async () => {
  const first = start('up', '--provider=gcp', '--no-tty');
  await first.line(/^ready: 3 machines Running/);
  const before = await inCloud();
  first.child.kill('SIGKILL');
  await first.ended;
  const second = start('up', '--no-tty');
  await second.line(/^ready: 3 machines Running/);
  expect(await inCloud()).toEqual(before);
  second.child.kill('SIGTERM');
  expect(await second.ended).toMatchObject({ code: 0 });
});
