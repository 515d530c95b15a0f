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
const LIMIT = { timeout: PATIENCE_MS };
/** What a machine of the first class leaves in a cloud's bill. */
const KINDS = {
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

const instancesOf = (all: Awaited<ReturnType<typeof inCloud>>): readonly string[] =>
  all.flatMap(({ kind, name }) => (kind === 'instance' ? [name] : [])).toSorted();

/** Each look is a process of its own: not more often than people would. */
const untilInCloud = <T>(told: (all: Awaited<ReturnType<typeof inCloud>>) => T) =>
  expect.poll(async () => told(await inCloud()), { timeout: PATIENCE_MS, interval: 2_000 });

const expectKinds = (provider: keyof typeof KINDS, all: Awaited<ReturnType<typeof inCloud>>): void => {
  expect([...new Set(all.map(({ kind }) => kind))].toSorted()).toEqual(KINDS[provider]);
};

/** Both deployments go; then the cloud's own listing is empty. */
async function untilNothingIsLeft(provider: string): Promise<void> {
  await scale('workers', 0);
  await scale(`${provider}-large`, 0);
  await untilInCloud((all) => all).toEqual([]);
}

test('mcm up --provider aws: three machines, a roll, none; and nothing is left in the cloud', LIMIT, async () => {
  const up = start('up', '--provider=aws', '--no-tty');
  await up.line(/^ready: 3 machines Running/);
  const first = await inCloud();
  expectKinds('aws', first);
  expect(instancesOf(first)).toHaveLength(3);

  expect(await run('rollout', 'restart', 'workers')).toMatchObject({ code: 0 });
  await applyExample('aws');
  expect(await run('rollout', 'status', 'workers')).toMatchObject({ code: 0 });
  expect(await run('rollout', 'status', 'aws-large')).toMatchObject({ code: 0 });
  const old = new Set(instancesOf(first));
  await untilInCloud((all) => instancesOf(all).filter((name) => old.has(name))).toEqual([]);
  expect(instancesOf(await inCloud())).toHaveLength(5);

  await untilNothingIsLeft('aws');
  const other = await run('up', '--provider=gcp', '--data-dir=.mcm');
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('another mcm') });
  up.child.kill('SIGTERM');
  expect(await up.ended).toMatchObject({ code: 0 });
  const wrong = await run('up', '--provider=local');
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/holds a fleet of aws, not of local/) });
});

test('mcm up --provider azure: births and deletions; and nothing is left in the cloud', LIMIT, async () => {
  const up = start('up', '--provider=azure', '--machines=1', '--no-tty');
  await up.line(/^ready: 1 machine Running/);
  expectKinds('azure', await inCloud());
  await applyExample('azure');
  expect(await run('rollout', 'status', 'azure-large')).toMatchObject({ code: 0 });
  expect(instancesOf(await inCloud())).toHaveLength(3);
  await untilNothingIsLeft('azure');
  up.child.kill('SIGTERM');
  expect(await up.ended).toMatchObject({ code: 0 });
});

test(
  'mcm up --provider gcp: found again after everything was killed; and nothing is left in the cloud',
  LIMIT,
  async () => {
    const first = start('up', '--provider=gcp', '--machines=1', '--no-tty');
    await first.line(/^ready: 1 machine Running/);
    const before = await inCloud();
    expectKinds('gcp', before);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = start('up', '--no-tty');
    await second.line(/^ready: 1 machine Running/);
    expect(await inCloud()).toEqual(before);
    await applyExample('gcp');
    expect(await run('rollout', 'status', 'gcp-large')).toMatchObject({ code: 0 });
    expect(instancesOf(await inCloud())).toHaveLength(3);
    await untilNothingIsLeft('gcp');
    second.child.kill('SIGTERM');
    expect(await second.ended).toMatchObject({ code: 0 });
  },
);
