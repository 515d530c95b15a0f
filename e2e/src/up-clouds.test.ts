import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
import { isThorough, sampled } from '@mcm/kube/testing';
import { sharedBundle } from '@mcm/tools/bundles';
import { type TestContext, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type McmRun, mcm, ROOT } from './harness/mcm.ts';

const program = await sharedBundle('mcm');

const PATIENCE_MS = 600_000;
const LIMIT = { timeout: PATIENCE_MS };
const KINDS = {
  aws: ['instance', 'networkInterface', 'volume'],
  azure: ['disk', 'instance', 'networkInterface'],
  gcp: ['disk', 'instance'],
};

/** Secrets that use another login method than the first Secret. */
const LOGINS = {
  aws: sampled(['aws-workload', 'aws-controller'], 2),
  azure: sampled(['azure-certificate', 'azure-workload', 'azure-system-identity', 'azure-user-identity'], 3),
  gcp: sampled(['gcp-workload-file', 'gcp-workload-url', 'gcp-workload-aws', 'gcp-host', 'gcp-impersonation'], 4),
};

const SOVEREIGN = { AzureChina: 'chinaeast2', AzureGovernment: 'usgovvirginia' };

const ROLE_ARN = 'arn:aws:iam::111122223333:role/emulated-role';
const ROLE = `role_arn = ${ROLE_ARN}`;
const TEMPORARY = { id: 'ASIAEMULATED00000001', secret: 'emulated', session: 'emulated-session' };
const CONTAINER = '/v1/credentials';
const INSTANCE = '/latest/meta-data/iam/security-credentials/emulated-role';
const KEY_REQUESTS = ['AssumeRole', 'AssumeRoleWithWebIdentity', CONTAINER, INSTANCE];

interface OwnLogin {
  readonly file: string;
  readonly text: string;
  /** Entries of `KEY_REQUESTS`: the requests that the cloud receives during the login. */
  readonly asks: readonly string[];
}

function ownLogins(cwd: string): readonly OwnLogin[] {
  const token = join(cwd, '.mcm', 'workload-token');
  const profile = (text: string, ...asks: string[]) => ({ file: 'aws-config', text: `[default]\n${text}\n`, asks });
  const variables = (text: string, ...asks: string[]) => ({ file: 'aws-environment', text, asks });
  const { id, secret, session } = TEMPORARY;
  const keys = [`aws_access_key_id = ${id}`, `aws_secret_access_key = ${secret}`, `aws_session_token = ${session}`];
  return [
    profile(`${ROLE}\ncredential_source = Ec2InstanceMetadata`, 'AssumeRole', INSTANCE),
    profile(`${ROLE}\nweb_identity_token_file = ${token}`, 'AssumeRoleWithWebIdentity'),
    profile(keys.join('\n')),
    variables(`AWS_ACCESS_KEY_ID=${id}\nAWS_SECRET_ACCESS_KEY=${secret}\nAWS_SESSION_TOKEN=${session}\n`),
    variables(`AWS_WEB_IDENTITY_TOKEN_FILE="${token}"\nAWS_ROLE_ARN=${ROLE_ARN}\n`, 'AssumeRoleWithWebIdentity'),
    variables('', CONTAINER),
    variables('AWS_CONTAINER_CREDENTIALS_FULL_URI=\n', INSTANCE),
  ];
}

type InCloud = readonly { readonly kind: string; readonly name: string }[];

function inFolder(context: TestContext, env: Readonly<Record<string, string>> = {}) {
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
    const run = mcm(args, { cwd, program, env });
    started.push(run);
    return run;
  };
  const run = (...args: string[]) => mcm(args, { cwd, program }).ended;

  const inCloud = async (): Promise<InCloud> => {
    const { stdout } = await run('cloud', 'list', '-o', 'json');
    const listed: readonly InCloud[number][] = JSON.parse(stdout);
    return listed
      .map(({ kind, name }) => ({ kind, name }))
      .toSorted((a, b) => `${a.kind} ${a.name}`.localeCompare(`${b.kind} ${b.name}`));
  };
  /** Each poll of the cloud starts a process, so the polls have a long interval. */
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
  /** Applies the class and the deployment of an example without changes. */
  const applyExample = (provider: string): Promise<void> =>
    withClient(async (client) => {
      const [machineClass, deployment] = parseAllDocuments(
        readFileSync(join(ROOT, 'examples', `${provider}.yaml`), 'utf8'),
      ).map((document): unknown => document.toJS());
      await client.resource<MachineClass>(machineClasses, 'default').create(machineClass as MachineClass);
      await client.resource<MachineDeployment>(machineDeployments, 'default').create(deployment as MachineDeployment);
    });
  /**
   * Replaces all machines of the first deployment at the same time, and creates a second deployment during the
   * replacement.
   */
  const rollBeside = async (provider: string): Promise<void> => {
    const old = new Set(instancesOf(await inCloud()));
    expect(old.size).toBe(3);
    await withClient(async (client) => {
      const resource = client.resource<MachineDeployment>(machineDeployments, 'default');
      const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 3, maxUnavailable: 0 } };
      await resource.patch('workers', { type: 'merge', body: { spec: { strategy } } });
    });
    expect(await run('rollout', 'restart', 'workers')).toMatchObject({ code: 0 });
    await applyExample(provider);
    expect(await run('rollout', 'status', 'workers')).toMatchObject({ code: 0 });
    expect(await run('rollout', 'status', `${provider}-large`)).toMatchObject({ code: 0 });
    await untilInCloud((all) => instancesOf(all).filter((name) => old.has(name))).toEqual([]);
    expect(instancesOf(await inCloud())).toHaveLength(5);
  };
  /**
   * For each additional login method, creates and deletes a machine whose class uses the method.
   * @param more Additional fields of the provider spec, and a prefix of the machine names.
   */
  const liveWithEachLogin = (
    provider: keyof typeof LOGINS,
    secrets: readonly string[] = LOGINS[provider],
    { prefix = '', ...more }: { readonly prefix?: string } & Readonly<Record<string, unknown>> = {},
  ): Promise<void> =>
    withClient(async (client) => {
      const classes = client.resource<MachineClass>(machineClasses, 'default');
      const resource = client.resource<Machine>(machines, 'default');
      const { metadata: _, providerSpec, ...first } = await classes.get(`${provider}-small`);
      const logins = secrets.map((secret) => `${prefix}${secret}`);
      for (const [at, name] of logins.entries()) {
        const metadata = { name, namespace: 'default' };
        const secretRef = { ...metadata, name: secrets[at] ?? '' };
        await classes
          .create({ ...first, providerSpec: { ...providerSpec, ...more }, metadata, secretRef })
          .catch((error: unknown) => {
            if (!isAlreadyExists(error)) throw error;
          });
        await resource.create({ metadata, spec: { class: { kind: 'MachineClass', name } } });
      }
      const phases = async (): Promise<readonly (string | undefined)[]> =>
        Promise.all(logins.map(async (name) => (await resource.get(name)).status?.currentStatus?.phase));
      await expect.poll(phases, { timeout: PATIENCE_MS, interval: 1_000 }).toEqual(logins.map(() => 'Running'));
      for (const name of logins) await resource.delete(name);
      await untilInCloud((all) => instancesOf(all).filter((name) => logins.includes(name))).toEqual([]);
    });
  const counts = async (): Promise<Readonly<Record<string, number>>> => {
    const { cloudAddress }: { cloudAddress: string } = JSON.parse(readFileSync(join(cwd, '.mcm', 'mcm.json'), 'utf8'));
    const ca = join(cwd, '.mcm', 'cloud', 'ca.crt');
    const trust = existsSync(ca) ? { ca: readFileSync(ca, 'utf8') } : {};
    const transport = undiciTransport({ server: cloudAddress, ...trust });
    const answer = await transport({ method: 'GET', path: '/_emulator/counts', headers: {} });
    const { counts: reported }: { counts: Readonly<Record<string, number>> } = JSON.parse(await answer.text());
    await transport.close();
    return reported;
  };
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

/** The tests run concurrently, because they mostly wait for machines and processes that start. */
const clouds = test.concurrent;
/** A plain run starts `mcm up` with only one cloud. */
const thoroughly = test.runIf(isThorough).concurrent;

clouds(
  'mcm up --provider aws: three machines, one for each kind of login, and a rollout; after the deletion, nothing is left in the cloud',
  LIMIT,
  async (context) => {
    const { expect } = context;
    const { start, run, inCloud, liveWithEachLogin, rollBeside, untilNothingIsLeft } = inFolder(context);
    const up = start('up', '--provider=aws', '--no-tty');
    await up.line(/^ready: 3 machines Running/);
    expect(kindsOf(await inCloud())).toEqual(KINDS.aws);
    await liveWithEachLogin('aws');
    for (const region of isThorough ? ['us-gov-west-1'] : [])
      await liveWithEachLogin('aws', ['aws-credentials', ...LOGINS.aws], { prefix: `${region}-`, region });
    await rollBeside('aws');
    await untilNothingIsLeft('aws');
    const other = await run('up', '--provider=gcp', '--data-dir=.mcm');
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('another mcm') });
    up.child.kill('SIGTERM');
    expect(await up.ended).toMatchObject({ code: 0 });
    const wrong = await run('up', '--provider=local');
    expect(wrong).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/contains machines of provider aws, not of local/),
    });
  },
);

thoroughly('mcm up --provider aws: the controller gets its own keys in each way of AWS', LIMIT, async (context) => {
  const { expect } = context;
  const { cwd, start, run, counts, liveWithEachLogin } = inFolder(context);
  expect(await run('up', '--provider=aws', '--machines=1', '--no-tty', '--exit-when-ready')).toMatchObject({ code: 0 });
  // This test uses only some sources of keys, because the tests of the driver verify all sources.
  for (const { file, text, asks } of sampled(ownLogins(cwd), 2, 2)) {
    for (const each of ['aws-config', 'aws-environment']) rmSync(join(cwd, '.mcm', each), { force: true });
    writeFileSync(join(cwd, '.mcm', file), text);
    const up = start('up', '--no-tty');
    await up.line(/^ready: 1 machine Running/);
    await liveWithEachLogin('aws', ['aws-controller']);
    const asked = await counts();
    expect(asked.RunInstances).toBeGreaterThan(0);
    const found = KEY_REQUESTS.filter((each) => asked[each] !== undefined);
    expect(found, text).toEqual(asks);
    up.child.kill('SIGTERM');
    expect(await up.ended).toMatchObject({ code: 0 });
  }
});

thoroughly(
  'mcm up --provider azure: three machines, one for each kind of login, and a rollout; after the deletion, nothing is left in the cloud',
  LIMIT,
  async (context) => {
    const { expect } = context;
    const { start, inCloud, counts, liveWithEachLogin, rollBeside, untilNothingIsLeft } = inFolder(context);
    const up = start('up', '--provider=azure', '--no-tty');
    await up.line(/^ready: 3 machines Running/);
    expect(kindsOf(await inCloud())).toEqual(KINDS.azure);
    await liveWithEachLogin('azure');
    for (const [name, location] of isThorough ? Object.entries(SOVEREIGN) : []) {
      const more = { prefix: `${name.toLowerCase()}-`, cloudConfiguration: { name }, location };
      await liveWithEachLogin('azure', ['azure-credentials', ...LOGINS.azure], more);
      expect((await counts())[`${name} PUT virtualMachines`]).toBe(1 + LOGINS.azure.length);
    }
    await rollBeside('azure');
    await untilNothingIsLeft('azure');
    up.child.kill('SIGTERM');
    expect(await up.ended).toMatchObject({ code: 0 });
  },
);

thoroughly(
  'mcm up --provider gcp: three machines, which are found after a kill of all programs, one for each kind of login, and a rollout; after the deletion, nothing is left in the cloud',
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
    await rollBeside('gcp');
    await untilNothingIsLeft('gcp');
    second.child.kill('SIGTERM');
    expect(await second.ended).toMatchObject({ code: 0 });
  },
);

thoroughly('mcm up --provider gcp: a private cloud, with each kind of login', LIMIT, async (context) => {
  const { expect } = context;
  const { start, liveWithEachLogin } = inFolder(context, { GOOGLE_CLOUD_UNIVERSE_DOMAIN: 'apis.example' });
  const up = start('up', '--provider=gcp', '--machines=1', '--no-tty');
  await up.line(/^ready: 1 machine Running/);
  await liveWithEachLogin('gcp');
  up.child.kill('SIGTERM');
  expect(await up.ended).toMatchObject({ code: 0 });
});
