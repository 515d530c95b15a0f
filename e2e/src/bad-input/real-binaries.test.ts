import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { Program, providerFor, userDataFor } from '@mcm/cli';
import {
  createClient,
  type Draft,
  events,
  type KubeClient,
  loadKubeconfig,
  realClock,
  secrets,
  undiciTransport,
} from '@mcm/kube';
import { sharedResolver } from '@mcm/tools/bundles';
import { type ExpectStatic, type TestContext, test } from 'vitest';
import { startApiServer } from '../harness/api-server.ts';

/** The bundled machine controllers and the emulators, each in a separate process. */

const NAMESPACE = 'default';
const PATIENCE_MS = 90_000;
const LIMIT = { timeout: 5 * PATIENCE_MS };
const PROVIDERS = ['aws', 'azure', 'gcp'] as const;

const resolve = await sharedResolver();
const nothing = (): void => undefined;

const newKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** Replaces the secret in valid cloud credentials with an invalid secret. */
const REFUSED: Readonly<Record<(typeof PROVIDERS)[number], (data: Record<string, string>) => Record<string, string>>> =
  {
    aws: (data) => ({ ...data, providerSecretAccessKey: 'canary/secret+access/key+of/nobody+0123' }),
    azure: (data) => ({ ...data, clientSecret: 'canary~client.secret_of-nobody-0123456' }),
    gcp: ({ serviceAccountJSON = '' }) => ({
      serviceAccountJSON: JSON.stringify({ ...JSON.parse(serviceAccountJSON), private_key: newKey() }),
    }),
  };

/**
 * Returns all lines of a Secret that must not appear in outputs, plain and as base64. In `serviceAccountJSON`, only the
 * private key is secret.
 */
const mustNotBeRead = (data: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(data)
    .filter(([key]) => /secret|serviceAccountJSON|userData/i.test(key))
    .flatMap(([key, value]) => [key === 'serviceAccountJSON' ? String(JSON.parse(value).private_key) : value])
    .flatMap((value) => [value, Buffer.from(value).toString('base64'), ...value.split('\n')])
    .filter((text) => text.length > 30 && !/^[-{]/.test(text));

async function open(name: (typeof PROVIDERS)[number], { onTestFinished }: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'mcm binaries '));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, 'cloud'));
  const file = (...parts: string[]): string => join(dir, ...parts);
  const provider = providerFor(name, { path: dir, state: undefined, file, write: nothing, release: nothing });
  const start = async (spec: {
    name: string;
    module: string;
    args: readonly string[];
    env?: Record<string, string>;
  }) => {
    const made = new Program(
      { ...spec, module: resolve(spec.module), logFile: file(`${spec.name}.log`) },
      { clock: realClock, onChange: () => undefined },
    );
    onTestFinished(() => made.stop());
    return { program: made, address: await made.start() };
  };
  const kubeconfig = file('kubeconfig');
  const server = await startApiServer({ crds });
  onTestFinished(() => server.close());
  writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 });
  const transport = undiciTransport(await loadKubeconfig(kubeconfig));
  onTestFinished(() => transport.close());
  const client = createClient({ transport, userAgent: 'real-binaries', clock: realClock });
  const cloud = await start({ ...provider.cloud, env: { ...provider.cloud.env } });
  const controller = provider.machineController(cloud);
  const flags = [`--control-kubeconfig=${kubeconfig}`, `--target-kubeconfig=${kubeconfig}`, `--namespace=${NAMESPACE}`];
  await start({ ...controller, args: [...controller.args, ...flags, '--port=0'], env: { ...controller.env } });
  const data = { ...provider.credentials(cloud), userData: userDataFor(readFileSync(kubeconfig, 'utf8')) };
  return { client, provider, cloud, data, log: () => readFileSync(file(`${controller.name}.log`), 'utf8') };
}

const machineNames = (name: string): readonly string[] => [`${name}-0`, `${name}-1`];

/** The class needs two machines, because one failed connection does not prove a problem of the class. */
async function make(client: KubeClient, name: string, cloudsOwn: object, data: Record<string, string>): Promise<void> {
  const metadata = { name, namespace: NAMESPACE };
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  await client.resource(secrets, NAMESPACE).create({ metadata, data: Object.fromEntries(encoded) });
  const draft = { metadata, ...cloudsOwn, secretRef: metadata };
  await client.resource<MachineClass>(machineClasses, NAMESPACE).create(draft as Draft<MachineClass>);
  const spec = { class: { kind: 'MachineClass', name } };
  for (const each of machineNames(name))
    await client.resource<Machine>(machines, NAMESPACE).create({ metadata: { ...metadata, name: each }, spec });
}

async function expectReported(
  { client, expect }: { readonly client: KubeClient; readonly expect: ExpectStatic },
  { name, reason, hint }: { readonly name: string; readonly reason: string; readonly hint: RegExp },
): Promise<void> {
  const patience = { timeout: PATIENCE_MS, interval: 250 };
  await expect
    .poll(async () => {
      const { items } = await client.resource(events, NAMESPACE).list();
      const texts = items
        .filter(({ involvedObject: of }) => of.kind === 'MachineClass' && of.name === name)
        .map((event) => `${event.reason}: ${event.message}`);
      return texts.find((text) => text.startsWith(`${reason}: `)) ?? '';
    }, patience)
    .toMatch(hint);
  for (const each of machineNames(name))
    await expect
      .poll(async () => {
        const machine = await client.resource<Machine>(machines, NAMESPACE).get(each);
        return machine.status?.lastOperation?.description ?? '';
      }, patience)
      .toMatch(hint);
}

// The tests run concurrently, because each of them mostly waits for retries of machines.
test.concurrent.for(PROVIDERS)(
  'the machine controller of %s reports refused credentials and an unreachable endpoint',
  LIMIT,
  async (name, context) => {
    const { expect } = context;
    const { client, provider, cloud, data, log } = await open(name, context);
    const { name: _name, secret: _secret, ...cloudsOwn } = provider.machineClass;
    const refused = REFUSED[name](data);
    await make(client, 'refused', cloudsOwn, { ...data, ...refused });
    const credentials = /correct the credentials in Secret default\/refused \(data\./;
    await expectReported({ client, expect }, { name: 'refused', reason: 'CredentialsRefused', hint: credentials });

    await cloud.program.stop();
    await make(client, 'unreachable', cloudsOwn, data);
    const endpoint = /cannot reach the cloud \(E\w+\); check .*endpoint/;
    await expectReported({ client, expect }, { name: 'unreachable', reason: 'CloudUnreachable', hint: endpoint });

    const readable = [log()];
    for (const definition of [events, machines, machineClasses] as const)
      readable.push(JSON.stringify((await client.resource(definition as typeof events, NAMESPACE).list()).items));
    expect(readable[0]).toContain('refused');
    const hidden = [...mustNotBeRead(data), ...mustNotBeRead(refused)];
    expect(hidden.length).toBeGreaterThan(2);
    for (const text of hidden) expect(readable.join('\n')).not.toContain(text);
  },
);
