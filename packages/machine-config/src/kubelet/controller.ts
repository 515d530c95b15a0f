import {
  type Change,
  type Controller,
  controllerOf,
  createController,
  done,
  ignoreNotFound,
  type Key,
  type Outcome,
} from '@mcm/kube';
import { type ConfigContext, nowText } from '../caches.ts';
import type { ClusterSettingsSource } from '../cluster-settings.ts';
import { ConfigEvents } from '../constants/conditions.ts';
import { CONTROLLER_CONFIG_NAME } from '../constants/names.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import { kubeletConfigs, machineConfigs } from '../resources.ts';
import type { TemplateTree } from '../templates/tree.ts';
import { verdictIsTold, withVerdict } from './conditions.ts';
import { type KubeletPlan, planKubeletConfig } from './plan.ts';

/** Options of the KubeletConfigController. */
export interface KubeletConfigControllerOptions {
  readonly tree: TemplateTree;
  readonly settings: ClusterSettingsSource;
}

/** Makes the MachineConfigs of KubeletConfigs: a thin shell around {@link planKubeletConfig}. */
export function createKubeletConfigController(
  context: ConfigContext,
  options: KubeletConfigControllerOptions,
): Controller {
  const { caches, clock, random, log, metrics } = context;
  const reconcile = (key: Key) => sync(context, options, key);
  // One at a time: names are given by what the others have.
  const controller = createController({
    ...{ name: 'kubelet-config', concurrency: 1, clock, random, log, reconcile },
    ...(metrics && { metrics }),
  });
  const all = () => caches.kubeletConfigs.store.list().map(({ metadata }) => metadata.name);
  controller.watch(caches.kubeletConfigs, ({ key }) => [key]);
  controller.watch(caches.controllerConfigs, all);
  controller.watch(caches.pools, (change) => (selectionChanged(change) ? all() : []));
  controller.watch(caches.machineConfigs, ({ object }) => {
    const owner = controllerOf(object);
    return owner?.kind === 'KubeletConfig' ? [owner.name] : [];
  });
  options.settings.onChange(() => {
    for (const name of all()) controller.enqueue(name);
  });
  return controller;
}

/** Whether a change of a pool can change which configs are its own, or what they may say. */
export function selectionChanged(
  change: Change<{ metadata: { labels?: unknown }; spec?: { nodeSelector?: unknown } }>,
) {
  if (change.type !== 'updated') return true;
  const text = ({ metadata, spec }: typeof change.object) => JSON.stringify([metadata.labels, spec?.nodeSelector]);
  return text(change.old) !== text(change.object);
}

async function sync(context: ConfigContext, options: KubeletConfigControllerOptions, key: Key): Promise<Outcome> {
  const { caches, identity, log, recorder } = context;
  const config = caches.kubeletConfigs.store.get(key);
  if (!config) return done;
  const plan = planKubeletConfig({
    ...{ config, tree: options.tree, cluster: options.settings.get(), hash: identity.hash },
    stored: caches.kubeletConfigs.store.list(),
    pools: caches.pools.store.list(),
    machineConfigs: caches.machineConfigs.store.list(),
    controllerConfig: caches.controllerConfigs.store.get(CONTROLLER_CONFIG_NAME),
  });
  await (config.metadata.deletionTimestamp === undefined ? carryOut : takeDown)(context, config, plan);
  const { error, verdict } = plan;
  if (error === undefined) return done;
  // Whatever ends the failure is watched; trying again by itself changes nothing.
  log.warn('KubeletConfig is not applied', { config: key, reason: error });
  if (verdict?.problem !== undefined && !verdictIsTold(config, verdict.problem)) {
    recorder.event(config, 'Warning', ConfigEvents.KubeletConfigRefused, verdict.problem);
  }
  return done;
}

/** What is left over goes last: until then its content is in force. */
async function carryOut(context: ConfigContext, config: KubeletConfig, plan: KubeletPlan): Promise<void> {
  const { client, caches } = context;
  for (const one of plan.create) caches.machineConfigs.recordWrite(await client.resource(machineConfigs).create(one));
  for (const one of plan.update) caches.machineConfigs.recordWrite(await client.resource(machineConfigs).update(one));
  const newest = await writeObject(context, config, plan);
  if (plan.verdict) await writeVerdict(context, newest, plan.verdict.problem);
  await removeAll(context, plan.remove);
}

/** The MachineConfig goes before the finalizer that stands for it: a crash in between only does it again. */
async function takeDown(context: ConfigContext, config: KubeletConfig, plan: KubeletPlan): Promise<void> {
  await removeAll(context, plan.remove);
  await writeObject(context, config, plan);
}

async function removeAll({ client }: ConfigContext, names: readonly string[]): Promise<void> {
  for (const name of names) await ignoreNotFound(client.resource(machineConfigs).delete(name));
}

async function writeObject(
  { client, caches }: ConfigContext,
  config: KubeletConfig,
  { annotations, finalizers }: KubeletPlan,
): Promise<KubeletConfig> {
  if (!annotations && !finalizers) return config;
  const { name, resourceVersion } = config.metadata;
  const body = {
    metadata: { resourceVersion, ...(annotations && { annotations }), ...(finalizers && { finalizers }) },
  };
  const answer = await ignoreNotFound(client.resource(kubeletConfigs).patch(name, { type: 'merge', body }));
  // Without finalizers an object that is being deleted is gone: its last state must not come back into the cache.
  const gone = config.metadata.deletionTimestamp !== undefined && finalizers?.length === 0;
  if (answer && !gone) caches.kubeletConfigs.recordWrite(answer);
  return answer ?? config;
}

async function writeVerdict(context: ConfigContext, config: KubeletConfig, problem: string | undefined): Promise<void> {
  if (verdictIsTold(config, problem)) return;
  const { client, caches, clock } = context;
  const { name, resourceVersion, generation } = config.metadata;
  const conditions = [...withVerdict(config.status?.conditions ?? [], problem, nowText(clock))];
  const body = {
    metadata: { resourceVersion },
    status: { ...(generation !== undefined && { observedGeneration: generation }), conditions },
  };
  const answer = await client.resource(kubeletConfigs).patch(name, { type: 'merge', body }, { subresource: 'status' });
  caches.kubeletConfigs.recordWrite(answer);
}
