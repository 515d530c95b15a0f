import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Annotations, type MachineDeployment, machineDeployments } from '@mcm/api';
import { createAuthority } from '@mcm/control-plane';
import { type KubeClient, type KubeObject, type ResourceDefinition, realClock } from '@mcm/kube';
import { issueCertificate } from '../../harness/certificates.ts';
import { freePort } from '../../harness/free-port.ts';
import { NAMESPACE, startStack, until } from '../../harness/stack.ts';
import { DeletionTimes } from './deletion-times.ts';
import { PodLoad } from './pod-load.ts';

/** The path of the cluster autoscaler in the folder of programs. */
export const AUTOSCALER = join('cluster-autoscaler', 'cluster-autoscaler');

const POOL = 'workers';
const LARGEST = 10;
/** The consecutive numbers of pods. Each change causes a scale-up or a scale-in. */
const SIZES = [3, 1, 5, 0, 2, 8, 4, 6];
const CHANGES = Number(process.env.MCM_AUTOSCALER_CHANGES ?? 16);
const LIMIT_MS = 300_000;
const LOOK_EVERY_MS = 500;
/** The longest time from a decision of the autoscaler to the deletion of the machine. */
const DELETION_MS = 5_000;

/** The result of one check of the whole run. */
interface Check {
  readonly name: string;
  readonly passed: boolean;
}

/** Short waits, so that a scale-in takes seconds. */
const FLAGS = [
  '--cloud-provider=externalgrpc',
  '--scan-interval=1s',
  '--scale-down-delay-after-add=1s',
  '--scale-down-unneeded-time=1s',
  '--scale-down-delay-after-delete=0s',
  '--node-delete-delay-after-taint=0s',
  '--leader-elect=false',
];

const crdKind: ResourceDefinition<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/**
 * The autoscaler lists these kinds of dynamic resource allocation and does not start without them. The embedded control
 * plane does not serve these kinds.
 */
const LISTED_KINDS = [
  { plural: 'deviceclasses', kind: 'DeviceClass', scope: 'Cluster' },
  { plural: 'resourceslices', kind: 'ResourceSlice', scope: 'Cluster' },
  { plural: 'resourceclaims', kind: 'ResourceClaim', scope: 'Namespaced' },
] as const;

async function createListedKinds(client: KubeClient): Promise<void> {
  const group = 'resource.k8s.io';
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  for (const { plural, kind, scope } of LISTED_KINDS) {
    const spec = {
      group,
      scope,
      names: { plural, kind, singular: kind.toLowerCase() },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    };
    const annotations = { 'api-approved.kubernetes.io': 'unapproved, for tests' };
    await client.resource(crdKind).create({ metadata: { name: `${plural}.${group}`, annotations }, spec } as never);
  }
}

function writeConfig(folder: string, port: number): string {
  const authority = createAuthority(realClock.now());
  const [server, client] = [issueCertificate(authority, 'serverAuth'), issueCertificate(authority, 'clientAuth')];
  const files = {
    'tls.crt': server.cert,
    'tls.key': server.key,
    'ca.crt': authority.certificate,
    'client.crt': client.cert,
    'client.key': client.key,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const config = join(folder, 'cloud.yaml');
  const path = (name: keyof typeof files): string => JSON.stringify(join(folder, name));
  writeFileSync(
    config,
    `address: localhost:${port}\ncert: ${path('client.crt')}\nkey: ${path('client.key')}\ncacert: ${path('ca.crt')}\n`,
  );
  return config;
}

function startAutoscaler(program: string, flags: readonly string[], logFile: string): ChildProcess {
  const child = spawn(program, [...FLAGS, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.pipe(createWriteStream(logFile));
  return child;
}

/** Changes the number of pods, and waits until the number of machines is right. */
async function followLoad(load: PodLoad, deletions: DeletionTimes, ended: () => boolean): Promise<Check[]> {
  let [present, expected, isComplete] = [0, 1, true];
  for (let change = 0; change < CHANGES && isComplete; change += 1) {
    const count = SIZES[change % SIZES.length] ?? 0;
    const started = realClock.monotonic();
    await load.resize(count);
    isComplete = await load.isSettled(count);
    while (!isComplete && realClock.monotonic() - started < LIMIT_MS && !ended()) {
      await sleep(LOOK_EVERY_MS);
      isComplete = await load.isSettled(count);
    }
    const seconds = Math.round((realClock.monotonic() - started) / 1000);
    process.stdout.write(`cluster-autoscaler: ${present} to ${count} pods after ${seconds} s\n`);
    expected += Math.max(0, Math.max(1, count) - Math.max(1, present));
    present = count;
  }
  const unnamed = load.unnamed();
  const needless = load.machines.size - expected;
  const times = deletions.sorted();
  const slowest = times.at(-1) ?? 0;
  const median = times[Math.floor(times.length / 2)] ?? 0;
  process.stdout.write(`cluster-autoscaler: ${unnamed.length} unnamed deletions, ${needless} needless machines\n`);
  process.stdout.write(
    `cluster-autoscaler: ${times.length} deletions, ${Math.round(median)} ms (median) and ${Math.round(slowest)} ms (slowest) after the decision\n`,
  );
  return [
    { name: 'each scale-up and scale-in is complete within 5 minutes', passed: isComplete },
    { name: 'only named machines are deleted', passed: unnamed.length === 0 },
    { name: 'no needless machine is created', passed: needless <= 0 },
    { name: 'each machine is deleted within 5 s of the decision', passed: times.length > 0 && slowest < DELETION_MS },
  ];
}

/**
 * Runs the cluster autoscaler of the Kubernetes project with the real programs of mcm, and changes the number of pods.
 * With `KUBEBUILDER_ASSETS`, the API server is a real one.
 * @param dir The folder with the programs.
 */
export async function runAutoscaler(dir: string): Promise<Check[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mcm autoscaler '));
  const port = await freePort();
  const config = writeConfig(folder, port);
  const stack = await startStack({ managerFlags: [`--autoscaler-port=${port}`, `--autoscaler-cert-dir=${folder}`] });
  let autoscaler: ChildProcess | undefined;
  try {
    if (stack.plane) await createListedKinds(stack.client);
    await stack.makeClass('small');
    await stack.makeDeployment(POOL, 1, 'small');
    const annotations = { [Annotations.AutoscalerMinSize]: '1', [Annotations.AutoscalerMaxSize]: String(LARGEST) };
    const pools = stack.client.resource<MachineDeployment>(machineDeployments, NAMESPACE);
    await pools.patch(POOL, { type: 'merge', body: { metadata: { annotations } } });
    await stack.startControllers();
    await until<MachineDeployment>(
      stack.client,
      machineDeployments,
      POOL,
      ({ status }) => status?.availableReplicas === 1,
      LIMIT_MS,
    );
    const load = new PodLoad(stack.client);
    await load.create();
    const flags = [`--kubeconfig=${stack.kubeconfig}`, `--cloud-config=${config}`];
    const started = startAutoscaler(join(dir, AUTOSCALER), flags, join(folder, 'autoscaler.log'));
    autoscaler = started;
    const deletions = new DeletionTimes(stack.client);
    const [checks] = await Promise.all([
      followLoad(load, deletions, () => started.exitCode !== null).finally(() => deletions.stop()),
      deletions.follow(),
    ]);
    return checks;
  } finally {
    autoscaler?.kill('SIGKILL');
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
