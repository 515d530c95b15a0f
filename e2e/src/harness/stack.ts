import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, type MachineClass, type MachineDeployment, machineClasses, machineDeployments } from '@mcm/api';
import { Program, userDataFor } from '@mcm/cli';
import {
  type Clock,
  createClient,
  type Draft,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type ResourceDefinition,
  realClock,
  secrets,
  undiciTransport,
} from '@mcm/kube';
import { installedAccount } from './account.ts';
import { isRealAsked, startApiServer } from './api-server.ts';
import { fromAudit, ofControllers, RequestLogReader } from './request-log.ts';

const CRDS: ResourceDefinition<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

export const NAMESPACE = 'default';
const TOKEN = 'bench-token';

/** The real programs in separate processes: the controllers, a local cloud without delays, and an API server. */
export interface Stack {
  readonly client: KubeClient;
  readonly plane: Program | undefined;
  readonly cloud: Program;
  readonly manager: Program;
  readonly machineController: Program;
  readonly requests: RequestLogReader;
  readonly isAudited: boolean;
  readonly kubeconfig: string;
  /** Returns the requests of the controllers that the API server has refused. */
  refused(): readonly string[];
  readonly logs: string;
  makeClass(name: string): Promise<void>;
  makeDeployment(
    name: string,
    replicas: number,
    machineClass: string,
    strategy?: { maxSurge: number | string; maxUnavailable: number | string },
  ): Promise<void>;
  startControllers(): Promise<void>;
  stop(): Promise<void>;
}

export interface StackOptions {
  readonly clock?: Clock;
  readonly planeFlags?: readonly string[];
  readonly managerFlags?: readonly string[];
  readonly userData?: string;
  readonly resolve?: (module: string) => string;
}

/** Creates the Secret for the first class. */
async function createCredentials(client: KubeClient, endpoint: string, userData: string): Promise<void> {
  const secretData = { endpoint, token: TOKEN, userData };
  await client.resource(secrets, NAMESPACE).create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'local-credentials', namespace: NAMESPACE },
    data: Object.fromEntries(
      Object.entries(secretData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    ),
  });
}

const classNamed = (name: string): Draft<MachineClass> => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: { name, namespace: NAMESPACE },
  provider: 'local',
  secretRef: { name: 'local-credentials', namespace: NAMESPACE },
  nodeTemplate: {
    capacity: { cpu: '2', gpu: '0', memory: '4Gi' },
    instanceType: 'small',
    region: 'local',
    zone: 'local-a',
  },
  providerSpec: {
    image: 'hollow:v1',
    instanceType: 'small',
    zone: 'local-a',
    tags: { 'kubernetes.io/cluster/bench': '1', 'kubernetes.io/role/node': '1' },
  },
});

const deploymentOf = (
  name: string,
  replicas: number,
  machineClass: string,
  strategy: object,
): Draft<MachineDeployment> => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineDeployment',
  metadata: { name, namespace: NAMESPACE },
  spec: {
    replicas,
    selector: { matchLabels: { name } },
    strategy: { type: 'RollingUpdate', rollingUpdate: strategy },
    template: { metadata: { labels: { name } }, spec: { class: { kind: 'MachineClass', name: machineClass } } },
  },
});

type ProgramOf = (name: string, module: string, args: string[], env?: Record<string, string>) => Program;

/** Starts a control plane, or the API server that the environment variables select. */
async function startServer(program: ProgramOf, kubeconfigFile: string, flags: readonly string[]) {
  if (isRealAsked()) {
    const real = await startApiServer({ crds });
    writeFileSync(kubeconfigFile, real.kubeconfig(), { mode: 0o600 });
    return { real, plane: undefined };
  }
  const own = ['--memory', '--port=0', `--kubeconfig=${kubeconfigFile}`];
  const plane = program('control-plane', '@mcm/control-plane/main', [...own, ...flags]);
  await plane.start();
  return { real: undefined, plane };
}

const refusalsIn = (requests: RequestLogReader): readonly string[] =>
  requests
    .read()
    .filter((request) => request.code === 403 && ofControllers(request))
    .map(({ verb, resource, subresource, name }) => `${verb} ${resource}/${subresource} ${name}`);

export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const { clock = realClock, resolve = (module: string) => import.meta.resolve(module) } = options;
  const dir = mkdtempSync(join(tmpdir(), 'mcm stack '));
  const kubeconfigFile = join(dir, 'kubeconfig');
  const requestLog = join(dir, 'requests.jsonl');
  const program: ProgramOf = (name, module, args, env = {}) =>
    new Program(
      { name, module: resolve(module), args, env, logFile: join(dir, `${name}.log`) },
      { clock, onChange: () => undefined },
    );

  const { real, plane } = await startServer(program, kubeconfigFile, [
    `--request-log=${requestLog}`,
    ...(options.planeFlags ?? []),
  ]);
  // The simulated kubelets get this kubeconfig, because in the measurement of the original they also had credentials.
  const cloud = program(
    'local-cloud',
    '@mcm/provider-local/cloud/main',
    ['--memory', '--port=0', `--node-kubeconfig=${kubeconfigFile}`],
    { MCM_LOCAL_CLOUD_TOKEN: TOKEN },
  );
  const endpoint = await cloud.start();
  const transport = undiciTransport(await loadKubeconfig(kubeconfigFile));
  const client = createClient({ transport, userAgent: 'mcm-bench', clock });
  if (plane) for (const crd of crds) await client.resource(CRDS).create(crd);

  await createCredentials(client, endpoint, options.userData ?? userDataFor(readFileSync(kubeconfigFile, 'utf8')));

  const controllersFile = join(dir, 'controllers.kubeconfig');
  const account = await installedAccount(client, NAMESPACE, readFileSync(kubeconfigFile, 'utf8'));
  writeFileSync(controllersFile, account, { mode: 0o600 });
  const flags = [
    `--control-kubeconfig=${controllersFile}`,
    `--target-kubeconfig=${controllersFile}`,
    `--namespace=${NAMESPACE}`,
    '--port=0',
  ];
  const manager = program('machine-controller-manager', '@mcm/machine-controller-manager/main', [
    ...flags,
    ...(options.managerFlags ?? []),
  ]);
  const machineController = program('machine-controller-local', '@mcm/provider-local/main', flags);

  const openLog = (): RequestLogReader =>
    real?.auditLog ? new RequestLogReader(real.auditLog, fromAudit) : new RequestLogReader(requestLog);
  const stack: Stack = {
    client,
    plane,
    cloud,
    manager,
    machineController,
    isAudited: real === undefined || real.auditLog !== undefined,
    requests: openLog(),
    refused: () => refusalsIn(openLog()),
    kubeconfig: kubeconfigFile,
    logs: dir,
    async makeClass(name) {
      await client.resource(machineClasses, NAMESPACE).create(classNamed(name));
    },
    async makeDeployment(name, replicas, machineClass, strategy = { maxSurge: '10%', maxUnavailable: 0 }) {
      await client
        .resource<MachineDeployment>(machineDeployments, NAMESPACE)
        .create(deploymentOf(name, replicas, machineClass, strategy));
    },
    async startControllers() {
      await Promise.all([manager.start(), machineController.start()]);
    },
    async stop() {
      await Promise.all([manager.stop(), machineController.stop()]);
      await cloud.stop();
      await transport.close();
      await plane?.stop();
      await real?.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  return stack;
}

export async function until<T extends KubeObject>(
  client: KubeClient,
  definition: ResourceDefinition<T>,
  name: string,
  predicate: (object: T) => boolean,
  timeoutMs: number,
): Promise<T> {
  const signal = AbortSignal.timeout(timeoutMs);
  const resource = client.resource(definition, NAMESPACE);
  const first = await resource.get(name, { signal });
  if (predicate(first)) return first;
  for await (const event of resource.watch({
    fieldSelector: `metadata.name=${name}`,
    resourceVersion: first.metadata.resourceVersion,
    signal,
  })) {
    if (event.type !== 'BOOKMARK' && event.type !== 'DELETED' && predicate(event.object)) return event.object;
  }
  throw new Error(`the watch of ${definition.plural}/${name} ended early`);
}
