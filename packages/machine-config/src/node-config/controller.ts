import {
  type Change,
  type Controller,
  controllerOf,
  createController,
  done,
  type Informer,
  ignoreNotFound,
  type Key,
  type Outcome,
  type ResourceDefinition,
} from '@mcm/kube';
import { HINT_MARK } from '../config/hint.ts';
import { ConfigEvents } from '../constants/conditions.ts';
import type { ConfigEvent } from '../constants/event-meanings.ts';
import { CONTROLLER_CONFIG_NAME } from '../constants/names.ts';
import { type ConfigContext, nowText } from '../controllers/caches.ts';
import type { ClusterSettingsSource } from '../controllers/cluster-settings.ts';
import { deleteConfig } from '../controllers/delete-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { machineConfigs } from '../kinds/resources.ts';
import type { TemplateTree } from '../templates/tree.ts';
import type { NodeConfig, NodeConfigKind } from './kind.ts';
import { type NodeConfigPlan, type NodeConfigVerdict, planNodeConfig } from './plan.ts';
import { isIgnoredReported, isProblemReported, isVerdictReported, verdictConditions } from './verdict.ts';

/** Options of the controllers of KubeletConfigs and ContainerRuntimeConfigs. */
export interface NodeConfigOptions {
  readonly tree: TemplateTree;
  readonly settings: ClusterSettingsSource;
}

export interface NodeConfigRoom<T extends NodeConfig> {
  readonly name: string;
  readonly kind: NodeConfigKind<T>;
  readonly informer: Informer<T>;
  readonly definition: ResourceDefinition<T>;
  readonly refused: ConfigEvent;
}

export function createNodeConfigController<T extends NodeConfig>(
  context: ConfigContext,
  room: NodeConfigRoom<T>,
  options: NodeConfigOptions,
): Controller {
  const { caches, clock, random, log, metrics } = context;
  const reconcile = (key: Key) => sync(context, room, options, key);
  // The name of a MachineConfig depends on the names of all other MachineConfigs, so the controller processes one
  // object at a time.
  const controller = createController({
    name: room.name,
    concurrency: 1,
    clock,
    random,
    log,
    reconcile,
    of: room.informer,
    metrics,
  });
  const all = () => room.informer.store.list().map(({ metadata }) => metadata.name);
  controller.watch(room.informer, ({ key }) => [key]);
  controller.watch(caches.controllerConfigs, all);
  controller.watch(caches.pools, (change) => (selectionChanged(change) ? all() : []));
  controller.watch(caches.machineConfigs, ({ object }) => {
    const owner = controllerOf(object);
    return owner?.kind === room.kind.kind ? [owner.name] : [];
  });
  options.settings.onChange(() => {
    for (const name of all()) controller.enqueue(name);
  });
  return controller;
}

function selectionChanged(change: Change<{ metadata: { labels?: unknown }; spec?: { nodeSelector?: unknown } }>) {
  if (change.type !== 'updated') return true;
  const text = ({ metadata, spec }: typeof change.object) => JSON.stringify([metadata.labels, spec?.nodeSelector]);
  return text(change.old) !== text(change.object);
}

async function sync<T extends NodeConfig>(
  context: ConfigContext,
  room: NodeConfigRoom<T>,
  options: NodeConfigOptions,
  key: Key,
): Promise<Outcome> {
  const { caches, identity, log, recorder } = context;
  const config = room.informer.store.get(key);
  if (!config) return done;
  const stored = caches.machineConfigs.store.list();
  const plan = planNodeConfig(room.kind, {
    config,
    tree: options.tree,
    cluster: options.settings.get(),
    hash: identity.hash,
    stored: room.informer.store.list(),
    pools: caches.pools.store.list(),
    machineConfigs: stored,
    controllerConfig: caches.controllerConfigs.store.get(CONTROLLER_CONFIG_NAME),
  });
  const isGoing = config.metadata.deletionTimestamp !== undefined;
  if (!isGoing) await carryOut(context, room, config, plan);
  // The controller deletes outdated MachineConfigs last, because nodes use them until the new MachineConfigs exist.
  await removeAll(context, plan.remove, stored);
  if (isGoing) await writeObject(context, room, config, plan);
  const { error, verdict = {} } = plan;
  if (verdict.ignored !== undefined && !isIgnoredReported(config, verdict.ignored)) {
    recorder.event(config, 'Warning', ConfigEvents.UnknownFields, verdict.ignored);
  }
  if (error === undefined) return done;
  log.warn(`${room.kind.kind} is not applied`, { config: key, reason: error });
  if (verdict.problem !== undefined && !isProblemReported(config, verdict.problem)) {
    recorder.event(config, 'Warning', room.refused, `${verdict.problem}${HINT_MARK}${verdict.hint ?? ''}`);
  }
  return done;
}

async function carryOut<T extends NodeConfig>(
  context: ConfigContext,
  room: NodeConfigRoom<T>,
  config: T,
  plan: NodeConfigPlan,
): Promise<void> {
  const { client, caches } = context;
  for (const one of plan.create) caches.machineConfigs.recordWrite(await client.resource(machineConfigs).create(one));
  for (const one of plan.update) caches.machineConfigs.recordWrite(await client.resource(machineConfigs).update(one));
  const newest = await writeObject(context, room, config, plan);
  if (plan.verdict) await writeVerdict(context, room, newest, plan.verdict);
}

/** If the response to a create request was lost, the cache may lack the MachineConfig. */
async function removeAll(
  { client }: ConfigContext,
  names: readonly string[],
  stored: readonly MachineConfig[],
): Promise<void> {
  for (const name of names) {
    const known = stored.find(({ metadata }) => metadata.name === name);
    const found = known ?? (await ignoreNotFound(client.resource(machineConfigs).get(name)));
    if (found) await deleteConfig(client, found);
  }
}

async function writeObject<T extends NodeConfig>(
  { client }: ConfigContext,
  { informer, definition }: NodeConfigRoom<T>,
  config: T,
  { annotations, finalizers }: NodeConfigPlan,
): Promise<T> {
  if (!annotations && !finalizers) return config;
  const { name, resourceVersion } = config.metadata;
  const body = {
    metadata: { resourceVersion, annotations, finalizers },
  };
  const answer = await ignoreNotFound(client.resource(definition).patch(name, { type: 'merge', body }));
  // The removal of the last finalizer deletes the object, so the controller must not add the response to the cache.
  const gone = config.metadata.deletionTimestamp !== undefined && finalizers?.length === 0;
  if (answer && !gone) informer.recordWrite(answer);
  return answer ?? config;
}

async function writeVerdict<T extends NodeConfig>(
  { client, clock }: ConfigContext,
  { kind, informer, definition }: NodeConfigRoom<T>,
  config: T,
  verdict: NodeConfigVerdict,
): Promise<void> {
  if (isVerdictReported(config, verdict)) return;
  const { name, resourceVersion, generation } = config.metadata;
  const conditions = [...verdictConditions(kind, config, verdict, nowText(clock))];
  const body = {
    metadata: { resourceVersion },
    status: { observedGeneration: generation, conditions },
  };
  const answer = await client.resource(definition).patch(name, { type: 'merge', body }, { subresource: 'status' });
  informer.recordWrite(answer);
}
