import { again, type Controller, createController, done, type Key, type Outcome } from '@mcm/kube';
import { withCondition } from '../conditions/conditions.ts';
import type { StorageOverride } from '../config/reconcile.ts';
import { ConfigEvents } from '../constants/conditions.ts';
import { CONTROLLER_CONFIG_NAME, KEPT_RENDERS } from '../constants/names.ts';
import { type ConfigContext, NODE_CONFIG_INDEX, nowText } from '../controllers/caches.ts';
import { deleteConfig } from '../controllers/delete-config.ts';
import { writePoolStatus } from '../controllers/write-status.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { machineConfigPools, machineConfigs } from '../kinds/resources.ts';
import { selects } from '../kinds/selectors.ts';
import type { ConfigCondition } from '../kinds/shared.ts';
import { planRender, type RenderPlan } from './plan.ts';
import { oldRenders } from './prune.ts';
import { isResumed, poolsToRender, poolsToRenderWith } from './wakeups.ts';

/** Options of the RenderController. */
export interface RenderControllerOptions {
  readonly delayMs?: number;
  /** Whether the controller renders paused pools, as the original does (default: false). */
  readonly renderWhilePaused?: boolean;
  readonly storageOverrides?: () => readonly StorageOverride[];
  /** The number of unused rendered MachineConfigs that the controller keeps for each pool (default: 10). */
  readonly keepRenders?: number;
}

const DELAY_MS = 5000;
/** The retry interval for a failure that a change of a watched object cannot fix. */
const RETRY_MS = 60_000;

/** Creates the controller that executes the decisions of {@link planRender}. */
export function createRenderController(context: ConfigContext, options: RenderControllerOptions = {}): Controller {
  const { caches, clock, random, log, metrics } = context;
  const { delayMs = DELAY_MS } = options;
  const reconcile = (key: Key) => render(context, options, key);
  const controller = createController({
    name: 'render',
    concurrency: 2,
    clock,
    random,
    log,
    reconcile,
    of: caches.pools,
    metrics,
  });
  const all = () => caches.pools.store.list();
  const later = (names: Iterable<string>) => {
    for (const name of names) controller.enqueue(name, delayMs);
    return [];
  };
  controller.watch(caches.pools, (change) =>
    // The controller renders a resumed pool without a delay. Otherwise, nodes could get the target from before the
    // pause.
    isResumed(change) ? [change.key] : later(poolsToRenderWith(change, all())),
  );
  controller.watch(caches.machineConfigs, (change) => later(poolsToRender(change, all())));
  controller.watch(caches.controllerConfigs, () => later(all().map(({ metadata }) => metadata.name)));
  for (const informer of [caches.kubeletConfigs, caches.containerRuntimeConfigs] as const) {
    informer.onChange(({ object }) => {
      const { machineConfigPoolSelector: selector } = object.spec ?? {};
      later(all().flatMap((pool) => (selects(selector, pool) ? [pool.metadata.name] : [])));
    });
  }
  return controller;
}

async function render(context: ConfigContext, options: RenderControllerOptions, key: Key): Promise<Outcome> {
  const { caches, identity, log, recorder } = context;
  const pool = caches.pools.store.get(key);
  if (!pool) return done;
  const overrides = options.storageOverrides?.();
  const plan = planRender({
    pool,
    identity,
    configs: caches.machineConfigs.store.list(),
    machineConfig: (name) => caches.machineConfigs.store.get(name),
    controllerConfig: caches.controllerConfigs.store.get(CONTROLLER_CONFIG_NAME),
    kubeletConfigs: caches.kubeletConfigs.store.list(),
    containerRuntimeConfigs: caches.containerRuntimeConfigs.store.list(),
    renderWhilePaused: options.renderWhilePaused,
    storageOverrides: overrides,
  });
  const newest = await carryOut(context, pool, plan);
  for (const { type, reason, message } of plan.events) recorder.event(newest, type, reason, message);
  const { condition } = plan;
  if (condition?.status === 'True') {
    recorder.event(newest, 'Warning', ConfigEvents.RenderFailed, condition.message ?? '');
  }
  await prune(context, newest, options.keepRenders ?? KEPT_RENDERS);
  if (plan.error === undefined) return done;
  log.warn('the controller does not render the pool', { pool: key, reason: plan.error });
  return again(RETRY_MS);
}

/** Writes the rendered MachineConfig before the target, so that the MachineConfig of the target always exists. */
async function carryOut(context: ConfigContext, pool: MachineConfigPool, plan: RenderPlan): Promise<MachineConfigPool> {
  const { client, caches, clock } = context;
  const { certificates, create, update, configuration, condition, degraded } = plan;
  if (certificates) {
    const { write, machineConfig } = certificates;
    caches.machineConfigs.recordWrite(await client.resource(machineConfigs)[write](machineConfig));
  }
  if (create) caches.machineConfigs.recordWrite(await client.resource(machineConfigs).create(create));
  if (update) caches.machineConfigs.recordWrite(await client.resource(machineConfigs).update(update));
  let newest = pool;
  if (configuration) {
    const { name, resourceVersion } = pool.metadata;
    const body = { metadata: { resourceVersion }, spec: { configuration } };
    newest = await client.resource(machineConfigPools).patch(name, { type: 'merge', body });
    caches.pools.recordWrite(newest);
  }
  const wanted = [condition ?? [], degraded ?? []].flat();
  if (wanted.length > 0) {
    const old: readonly ConfigCondition[] = newest.status?.conditions ?? [];
    const conditions = wanted.reduce((list, one) => withCondition(list, one, nowText(clock)), old);
    await writePoolStatus(context, newest, { conditions: [...conditions] });
  }
  return newest;
}

/** Deletes old rendered MachineConfigs that no node may need, after a change of the pool's target. */
async function prune({ client, caches }: ConfigContext, pool: MachineConfigPool, keep: number): Promise<void> {
  if (keep < 0) return;
  const old = oldRenders({
    pool,
    pools: caches.pools.store.list(),
    machineConfigs: caches.machineConfigs.store.list(),
    keep,
    isOnNode: (name) => caches.nodes.store.countByIndex(NODE_CONFIG_INDEX, name) > 0,
  });
  for (const one of old) await deleteConfig(client, one);
}
