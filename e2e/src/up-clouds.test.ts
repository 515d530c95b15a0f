import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Machine,
  type MachineClass,
  type MachineDeployment,
  machineClasses,
  machineDeployments,
  machines,
} from '@mcm/api';
import { createClient, isAlreadyExists, type KubeClient, loadKubeconfig, realClock, undiciTransport } from '@mcm/kube';
import { sharedBundle } from '@mcm/tools/bundles';
import { type TestContext, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type McmRun, mcm, ROOT } from './harness/mcm.ts';

const program = await sharedBundle('mcm');

const PATIENCE_MS = 600_000;
const LIMIT = { timeout: PATIENCE_MS };
/** What a machine of the first class leaves in a cloud's bill. */
const KINDS = {
  aws: ['instance', 'networkInterface', 'volume'],
  azure: ['disk', 'instance', 'networkInterface'],
  gcp: ['disk', 'instance'],
};

/** Secrets that log in to a cloud in another way than the first. */
const LOGINS = {
  aws: ['aws-workload', 'aws-controller'],
  azure: ['azure-certificate', 'azure-workload', 'azure-system-identity', 'azure-user-identity'],
  gcp: ['gcp-workload-file', 'gcp-workload-url', 'gcp-workload-aws', 'gcp-host', 'gcp-impersonation'],
};

const ROLE = 'role_arn = arn:aws:iam::111122223333:role/emulated-role';
/** Profiles of the controller, with the request to STS that each needs. */
const PROFILES = (cwd: string): readonly (readonly [profile: string, action: string | undefined])[] => [
  [`${ROLE}\ncredential_source = Ec2InstanceMetadata`, 'AssumeRole'],
  [`${ROLE}\nweb_identity_token_file = ${join(cwd, '.mcm', 'workload-token')}`, 'AssumeRoleWithWebIdentity'],
  [
    'aws_access_key_id = ASIAEMULATED00000001\naws_secret_access_key = emulated\naws_session_token = emulated-session',
    undefined,
  ],
];

type InCloud = readonly { readonly kind: string; readonly name: string }[];

/** A folder with the fleet of one cloud in it, and the commands as people give them there. */
function inFolder(context: TestContext) {
  const { onTestFinished, expect } = context;
  const cwd = mkdtempSync(join(tmpdir(), 'mcm clouds '));
  const started: McmRun[] = [];
  onTestFinished(async () => {
    for (const { child, ended } of started.splice(0)) {
      child.kill('SIGTERM');
      await ended;
    }
    rmSync(cwd, { recursive: true, force: true });
  });
  const start = (...args: string[]): McmRun => {
    const run = mcm(args, { cwd, program });
    started.push(run);
    return run;
  };
  const run = (...args: string[]) => mcm(args, { cwd, program }).ended;

  /** Kinds and names in the cloud, by its own listing. */
  const inCloud = async (): Promise<InCloud> => {
    const { stdout } = await run('cloud', 'list');
    return stdout
      .trim()
      .split('\n')
      .filter((line) => line !== 'nothing')
      .map((line) => line.split('  '))
      .map(([kind = '', name = '']) => ({ kind, name }))
      .toSorted((a, b) => `${a.kind} ${a.name}`.localeCompare(`${b.kind} ${b.name}`));
  };
  /** Each look is a process of its own: not more often than people would. */
  const untilInCloud = <T>(reported: (all: InCloud) => T) =>
    expect.poll(async () => reported(await inCloud()), { timeout: PATIENCE_MS, interval: 2_000 });

  const withClient = async (work: (client: KubeClient) => Promise<void>): Promise<void> => {
    const transport = undiciTransport(await loadKubeconfig(join(cwd, '.mcm', 'kubeconfig')));
    await work(createClient({ transport, userAgent: 'mcm-e2e', clock: realClock }));
    await transport.close();
  };
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
  /** Replaces all machines of the first deployment, with `maxSurge` additional machines, while another deployment is created. */
  const rollBeside = async (maxSurge: number, provider: string): Promise<void> => {
    const old = new Set(instancesOf(await inCloud()));
    expect(old.size).toBe(3);
    await withClient(async (client) => {
      const resource = client.resource<MachineDeployment>(machineDeployments, 'default');
      const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable: 0 } };
      await resource.patch('workers', { type: 'merge', body: { spec: { strategy } } });
    });
    expect(await run('rollout', 'restart', 'workers')).toMatchObject({ code: 0 });
    await applyExample(provider);
    expect(await run('rollout', 'status', 'workers')).toMatchObject({ code: 0 });
    expect(await run('rollout', 'status', `${provider}-large`)).toMatchObject({ code: 0 });
    await untilInCloud((all) => instancesOf(all).filter((name) => old.has(name))).toEqual([]);
    expect(instancesOf(await inCloud())).toHaveLength(5);
  };
  /** A machine of a class with each other way to log in, made and deleted. */
  const liveWithEachLogin = (
    provider: keyof typeof LOGINS,
    logins: readonly string[] = LOGINS[provider],
  ): Promise<void> =>
    withClient(async (client) => {
      const classes = client.resource<MachineClass>(machineClasses, 'default');
      const resource = client.resource<Machine>(machines, 'default');
      const { metadata: _, ...first } = await classes.get(`${provider}-small`);
      for (const name of logins) {
        const metadata = { name, namespace: 'default' };
        // An earlier run of the same folder has created the class.
        await classes.create({ ...first, metadata, secretRef: metadata }).catch((error: unknown) => {
          if (!isAlreadyExists(error)) throw error;
        });
        await resource.create({ metadata, spec: { class: { kind: 'MachineClass', name } } });
      }
      const phases = async (): Promise<readonly (string | undefined)[]> =>
        Promise.all(logins.map(async (name) => (await resource.get(name)).status?.currentStatus?.phase));
      await expect.poll(phases, { timeout: PATIENCE_MS, interval: 1_000 }).toEqual(logins.map(() => 'Running'));
      for (const name of logins) await resource.delete(name);
      await untilInCloud((all) => instancesOf(all).filter((name) => name.startsWith(`${provider}-`))).toEqual([]);
    });
  /** Requests that the cloud has seen since its start, by action. */
  const counts = async (): Promise<Readonly<Record<string, number>>> => {
    const { cloudAddress }: { cloudAddress: string } = JSON.parse(readFileSync(join(cwd, '.mcm', 'mcm.json'), 'utf8'));
    const transport = undiciTransport({ server: cloudAddress });
    const answer = await transport({ method: 'GET', path: '/_emulator/counts', headers: {} });
    const { counts: reported }: { counts: Readonly<Record<string, number>> } = JSON.parse(await answer.text());
    await transport.close();
    return reported;
  };
  /** Both deployments go; then the cloud's own listing is empty. */
  const untilNothingIsLeft = async (provider: string): Promise<void> => {
    await scale('workers', 0);
    await scale(`${provider}-large`, 0);
    await untilInCloud((all) => all).toEqual([]);
  };
  return { cwd, start, run, inCloud, counts, liveWithEachLogin, rollBeside, untilNothingIsLeft };
}

const instancesOf = (all: InCloud): readonly string[] =>
  all.flatMap(({ kind, name }) => (kind === 'instance' ? [name] : [])).toSorted();

const kindsOf = (all: InCloud): readonly string[] => [...new Set(all.map(({ kind }) => kind))].toSorted();

/** At once: each waits most of the time, for machines that boot and processes that start. */
const clouds = test.concurrent;

clouds(
  'mcm up --provider aws: three machines, one for each kind of login, a roll, none; and nothing is left in the cloud',
  LIMIT,
  async (context) => {
    const { expect } = context;
    const { start, run, inCloud, liveWithEachLogin, rollBeside, untilNothingIsLeft } = inFolder(context);
    const up = start('up', '--provider=aws', '--no-tty');
    await up.line(/^ready: 3 machines Running/);
    expect(kindsOf(await inCloud())).toEqual(KINDS.aws);
    await liveWithEachLogin('aws');
    await rollBeside(1, 'aws');
    await untilNothingIsLeft('aws');
    const other = await run('up', '--provider=gcp', '--data-dir=.mcm');
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('another mcm') });
    up.child.kill('SIGTERM');
    expect(await up.ended).toMatchObject({ code: 0 });
    const wrong = await run('up', '--provider=local');
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/contains a fleet of aws, not of local/) });
  },
);

clouds('mcm up --provider aws: the profile in aws-config is the login of a blank Secret', LIMIT, async (context) => {
  const { expect } = context;
  const { cwd, start, run, counts, liveWithEachLogin } = inFolder(context);
  expect(await run('up', '--provider=aws', '--machines=1', '--no-tty', '--exit-when-ready')).toMatchObject({ code: 0 });
  for (const [profile, action] of PROFILES(cwd)) {
    writeFileSync(join(cwd, '.mcm', 'aws-config'), `[default]\n${profile}\n`);
    const up = start('up', '--no-tty');
    await up.line(/^ready: 1 machine Running/);
    await liveWithEachLogin('aws', ['aws-controller']);
    const asked = await counts();
    expect(asked.RunInstances).toBeGreaterThan(0);
    for (const name of ['AssumeRole', 'AssumeRoleWithWebIdentity'])
      expect(asked[name] ?? 0, `${name} for ${profile}`).toBe(name === action ? 1 : 0);
    up.child.kill('SIGTERM');
    expect(await up.ended).toMatchObject({ code: 0 });
  }
});

clouds(
  'mcm up --provider azure: three machines, one for each kind of login, a roll, none; and nothing is left in the cloud',
  LIMIT,
  async (context) => {
    const { expect } = context;
    const { start, inCloud, liveWithEachLogin, rollBeside, untilNothingIsLeft } = inFolder(context);
    const up = start('up', '--provider=azure', '--no-tty');
    await up.line(/^ready: 3 machines Running/);
    expect(kindsOf(await inCloud())).toEqual(KINDS.azure);
    await liveWithEachLogin('azure');
    await rollBeside(3, 'azure');
    await untilNothingIsLeft('azure');
    up.child.kill('SIGTERM');
    expect(await up.ended).toMatchObject({ code: 0 });
  },
);

clouds(
  'mcm up --provider gcp: three machines, found again after everything was killed, one for each kind of login, a roll, none; and nothing is left in the cloud',
  LIMIT,
  async (context) => {
    const { expect } = context;
    const { start, inCloud, liveWithEachLogin, rollBeside, untilNothingIsLeft } = inFolder(context);
    const first = start('up', '--provider=gcp', '--no-tty');
    await first.line(/^ready: 3 machines Running/);
    const before = await inCloud();
    expect(kindsOf(before)).toEqual(KINDS.gcp);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = start('up', '--no-tty');
    await second.line(/^ready: 3 machines Running/);
    expect(await inCloud()).toEqual(before);
    await liveWithEachLogin('gcp');
    await rollBeside(3, 'gcp');
    await untilNothingIsLeft('gcp');
    second.child.kill('SIGTERM');
    expect(await second.ended).toMatchObject({ code: 0 });
  },
);
