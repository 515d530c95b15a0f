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
import { CURE_MARK } from '../config/cure.ts';
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
import { ignoredIsTold, problemIsTold, verdictConditions, verdictIsTold } from './verdict.ts';

/** What the controllers of KubeletConfigs and ContainerRuntimeConfigs are given besides their context. */
export interface NodeConfigOptions {
  readonly tree: TemplateTree;
  readonly settings: ClusterSettingsSource;
}

/** Where the objects of a kind are, and what it is called. */
export interface NodeConfigRoom<T extends NodeConfig> {
  /** Name of the controller. */
  readonly name: string;
  readonly kind: NodeConfigKind<T>;
  readonly informer: Informer<T>;
  readonly definition: ResourceDefinition<T>;
  /** Reason of the event that tells of a refused object. */
  readonly refused: ConfigEvent;
}

/** Makes the MachineConfigs of one kind of objects: a thin shell around {@link planNodeConfig}. */
export function createNodeConfigController<T extends NodeConfig>(
  context: ConfigContext,
  room: NodeConfigRoom<T>,
  options: NodeConfigOptions,
): Controller {
  const { caches, clock, random, log, metrics } = context;
  const reconcile = (key: Key) => sync(context, room, options, key);
  // One at a time: names are given by what the others have.
  const controller = createController({
    ...{ name: room.name, concurrency: 1, clock, random, log, reconcile, of: room.informer },
    ...(metrics && { metrics }),
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

/** Whether a change of a pool can change which configs are its own, or what they may say. */
export function selectionChanged(
  change: Change<{ metadata: { labels?: unknown }; spec?: { nodeSelector?: unknown } }>,
) {
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
    ...{ config, tree: options.tree, cluster: options.settings.get(), hash: identity.hash },
    stored: room.informer.store.list(),
    pools: caches.pools.store.list(),
    machineConfigs: stored,
    controllerConfig: caches.controllerConfigs.store.get(CONTROLLER_CONFIG_NAME),
  });
  const isGoing = config.metadata.deletionTimestamp !== undefined;
  if (!isGoing) await carryOut(context, room, config, plan);
  // What is left over goes last: until then its content is in force.
  await removeAll(context, plan.remove, stored);
  // The MachineConfig goes before its finalizer: a crash in between only repeats it.
  if (isGoing) await writeObject(context, room, config, plan);
  const { error, verdict = {} } = plan;
  if (verdict.ignored !== undefined && !ignoredIsTold(config, verdict.ignored)) {
    recorder.event(config, 'Warning', ConfigEvents.UnknownFields, verdict.ignored);
  }
  if (error === undefined) return done;
  // Whatever ends the failure is watched; trying again by itself changes nothing.
  log.warn(`${room.kind.kind} is not applied`, { config: key, reason: error });
  if (verdict.problem !== undefined && !problemIsTold(config, verdict.problem)) {
    recorder.event(config, 'Warning', room.refused, `${verdict.problem}${CURE_MARK}${verdict.cure ?? ''}`);
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

/** Deletes the objects that the plan was made with. A name that the cache does not know may be a create without an answer. */
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
    metadata: { resourceVersion, ...(annotations && { annotations }), ...(finalizers && { finalizers }) },
  };
  const answer = await ignoreNotFound(client.resource(definition).patch(name, { type: 'merge', body }));
  // Without finalizers an object that is being deleted is gone: its last state must not come back into the cache.
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
  if (verdictIsTold(config, verdict)) return;
  const { name, resourceVersion, generation } = config.metadata;
  const conditions = [...verdictConditions(kind, config, verdict, nowText(clock))];
  const body = {
    metadata: { resourceVersion },
    status: { ...(generation !== undefined && { observedGeneration: generation }), conditions },
  };
  const answer = await client.resource(definition).patch(name, { type: 'merge', body }, { subresource: 'status' });
  informer.recordWrite(answer);
}
