import { crds as machineCrds } from '@mcm/api';
import { type RestorablePlane, startRestorablePlane } from '@mcm/control-plane';
import {
  type Controller,
  createClient,
  createInformer,
  createRecorder,
  type Informer,
  type KubeClient,
  nodes,
  podDisruptionBudgets,
  type Secret,
  secrets,
  seededRandom,
  silentLogger,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { watchBoundWrites } from '@mcm/kube/testing';
import { ConfigAnnotations, NodeAnnotations } from './constants/annotations.ts';
import { ConfigLabels } from './constants/labels.ts';
import { CONTROLLER_CONFIG_NAME } from './constants/names.ts';
import { type ConfigContext, createConfigCaches } from './controllers/caches.ts';
import { fixedSettings } from './controllers/cluster-settings.ts';
import { machineConfigCrds } from './crd/crds.ts';
import { createDrainController } from './drain/controller.ts';
import { createPodCache } from './drain/pod-cache.ts';
import { controllerConfigs, machineConfigPools, machineConfigs } from './kinds/resources.ts';
import { createKubeletConfigController } from './kubelet/controller.ts';
import { createCompanionController } from './machines/companion.ts';
import { createMachineCaches } from './machines/fleet.ts';
import { createUpdateController, type UpdateControllerOptions } from './pool/controller.ts';
import { createRenderController, type RenderControllerOptions } from './render/controller.ts';
import { createRuntimeConfigController } from './runtime/controller.ts';
import { createTemplateController } from './templates/controller.ts';
import type { TemplateTree } from './templates/tree.ts';

/** The environment for tests of the controllers, with a virtual clock. */
export interface World {
  readonly plane: RestorablePlane;
  readonly client: KubeClient;
  readonly clock: VirtualClock;
  readonly writes: string[];
  readonly context: ConfigContext;
  readonly controllers: readonly Controller[];
  start(): void;
  crash(): Promise<void>;
  end(): Promise<void>;
}

export interface Written {
  readonly method: string;
  readonly path: string;
}

export interface WorldOptions {
  readonly seed?: number;
  readonly tree?: TemplateTree;
  readonly update?: UpdateControllerOptions;
  readonly render?: RenderControllerOptions;
  readonly machines?: true;
  readonly crds?: readonly object[];
  readonly wire?: (transport: Transport) => Transport;
  /** If `onWrite` throws an error, the request of the controllers is lost. */
  readonly onWrite?: (request: Written) => void | Promise<void>;
  /** Called after the effect of each write, before the controllers get the response. */
  readonly afterWrite?: (request: Written) => void | Promise<void>;
}

export const TREE: TemplateTree = new Map([
  [
    'worker/00-worker/_base/files/motd.yaml',
    'mode: 0644\npath: /etc/motd\ncontents:\n  inline: "{{ clusterDNSIP }}"\n',
  ],
  [
    'worker/01-worker-kubelet/_base/files/kubelet.yaml',
    'mode: 0644\npath: /etc/kubernetes/kubelet.conf\ncontents:\n  inline: |\n    kind: KubeletConfiguration\n    apiVersion: kubelet.config.k8s.io/v1beta1\n    maxPods: 250\n',
  ],
]);

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const clock = new VirtualClock({ start: new Date('2026-01-01T12:00:00Z') });
  const random = seededRandom(options.seed ?? 7);
  const plane = await startRestorablePlane({
    clock,
    random: () => random.next(),
    controllers: false,
    crds: [...(options.crds ?? machineConfigCrds), ...(options.machines ? machineCrds : [])],
  });
  const writes: string[] = [];
  const transport: Transport = async (request) => {
    if (request.method === 'GET') return plane.transport(request);
    const about = { method: request.method, path: request.path.split('?')[0] ?? '' };
    await options.onWrite?.(about);
    writes.push(`${about.method} ${about.path}`);
    const answer = await plane.transport(request);
    await options.afterWrite?.(about);
    return answer;
  };
  const client = createClient({ transport: plane.transport, userAgent: 'user', clock });
  const { wire = (one) => one } = options;
  const bound = watchBoundWrites(['machineconfigs']);
  const own = createClient({ transport: bound.wrap(wire(transport)), userAgent: 'controllers', clock });
  const runtime = { clock, random, log: silentLogger };
  let stop = new AbortController();
  let running: Promise<unknown>[] = [];
  let context: ConfigContext | undefined;
  let controllers: Controller[] = [];
  const start = () => {
    stop = new AbortController();
    const recorder = createRecorder({ client: own, component: 'test', clock, log: silentLogger });
    context = {
      client: own,
      clock,
      random,
      log: silentLogger,
      recorder,
      identity: { version: 'v1', hash: 'h' },
      caches: createConfigCaches(own, own, runtime),
    };
    const pullSecrets: Informer<Secret> = createInformer(own, secrets, { ...runtime, namespace: 'default' });
    const podCache = createPodCache(own, runtime);
    const budgetCache = createInformer(own, podDisruptionBudgets, runtime);
    const machines = options.machines && createMachineCaches(own, runtime);
    const tree = options.tree ?? TREE;
    const settings = fixedSettings({ featureGates: {} });
    controllers = [
      createTemplateController(context, { tree, settings, secrets: pullSecrets }),
      createKubeletConfigController(context, { tree, settings }),
      createRuntimeConfigController(context, { tree, settings }),
      createRenderController(context, options.render),
      createUpdateController(context, { ...options.update, ...(machines && { machines }) }),
      createDrainController(context, { pods: podCache, budgets: budgetCache }),
      ...(machines ? [createCompanionController(context, machines)] : []),
    ];
    running = [
      ...[
        ...Object.values(context.caches),
        ...(machines ? [machines.machines, machines.sets, machines.deployments] : []),
      ].map((one: { run(signal: AbortSignal): Promise<void> }) => one.run(stop.signal)),
      pullSecrets.run(stop.signal),
      podCache.run(stop.signal),
      budgetCache.run(stop.signal),
      ...controllers.map((one) => one.run(stop.signal)),
    ];
  };
  const crash = async () => {
    stop.abort();
    await Promise.allSettled(running);
  };
  start();
  return {
    plane,
    client,
    clock,
    writes,
    start,
    crash,
    get context() {
      if (!context) throw new Error('not started');
      return context;
    },
    get controllers() {
      return controllers;
    },
    end: async () => {
      await crash();
      await plane.close();
      if (bound.unbound.size > 0)
        throw new Error(`writes that do not name what they were decided on: ${[...bound.unbound].join(', ')}`);
    },
  };
}

const WORKER = 'node-role.kubernetes.io/worker';

export const WORKER_ROLE = { [ConfigLabels.Role]: 'worker' };

export const configOf = (data: string, path = '/etc/a') => ({
  ignition: { version: '3.5.0' },
  storage: { files: [{ path, contents: { source: `data:,${data}` } }] },
});

export async function fillWorld(
  client: KubeClient,
  { count = 3, maxUnavailable = 1 as number | string, spec = {} as object } = {},
): Promise<void> {
  await client.resource(controllerConfigs).create({
    metadata: { name: CONTROLLER_CONFIG_NAME },
    spec: { clusterDNSIP: '10.0.0.10', platform: 'none' },
  });
  await client.resource(machineConfigPools).create({
    metadata: { name: 'worker', labels: { [`${ConfigLabels.PoolPrefix}worker`]: '' } },
    spec: {
      machineConfigSelector: { matchLabels: WORKER_ROLE },
      nodeSelector: { matchLabels: { [WORKER]: '' } },
      maxUnavailable,
      ...spec,
    },
  });
  await createNodes(client, count);
}

export async function createNodes(client: KubeClient, count: number, from = 0): Promise<void> {
  const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
  const annotations = { [CurrentConfig]: 'rendered-old', [DesiredConfig]: 'rendered-old', [State]: 'Done' };
  for (let index = from; index < from + count; index += 1) {
    await client
      .resource(nodes)
      .create({ metadata: { name: `n${index}`, labels: { [WORKER]: '' }, annotations }, spec: {} });
  }
}

/** Simulates daemons that apply all targets without delays, except configs for which `bad` is true. */
export async function playDaemons(client: KubeClient, bad: (config: string) => boolean = () => false): Promise<number> {
  const { CurrentConfig, DesiredConfig, State, Reason } = NodeAnnotations;
  const { items } = await client.resource(nodes).list();
  let played = 0;
  for (const { metadata } of items) {
    const { annotations = {}, name } = metadata;
    const desired = annotations[DesiredConfig] ?? '';
    if (desired === annotations[CurrentConfig] && annotations[State] === 'Done') continue;
    const failed = bad(desired);
    const now = failed
      ? { [State]: 'Degraded', [Reason]: 'cannot write' }
      : { [CurrentConfig]: desired, [State]: 'Done', [Reason]: '' };
    if (Object.entries(now).every(([key, value]) => annotations[key] === value)) continue;
    await client.resource(nodes).patch(name, { type: 'merge', body: { metadata: { annotations: now } } });
    played += 1;
  }
  return played;
}

export const generatedBy = (hash: string) => ({ [ConfigAnnotations.GeneratedByControllerVersion]: hash });

export const storedConfigs = async (client: KubeClient): Promise<readonly string[]> =>
  (await client.resource(machineConfigs).list()).items.map(({ metadata }) => metadata.name);
