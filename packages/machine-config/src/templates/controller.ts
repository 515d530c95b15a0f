import {
  type Controller,
  controllerOf,
  createController,
  done,
  type Informer,
  type Key,
  type Outcome,
  type Secret,
} from '@mcm/kube';
import { HINT_MARK } from '../config/hint.ts';
import { ConfigEvents } from '../constants/conditions.ts';
import { CONTROLLER_CONFIG_NAME } from '../constants/names.ts';
import { type ConfigContext, nowText } from '../controllers/caches.ts';
import type { ClusterSettingsSource } from '../controllers/cluster-settings.ts';
import type { ControllerConfig, ControllerConfigStatus } from '../kinds/controller-config.ts';
import { controllerConfigs, machineConfigs } from '../kinds/resources.ts';
import { planTemplates } from './plan.ts';
import type { TemplateTree } from './tree.ts';

/** Options of the TemplateController. */
export interface TemplateControllerOptions {
  readonly tree: TemplateTree;
  /** The informer of Secrets. Without the informer, the controller refuses a ControllerConfig with a pull secret. */
  readonly secrets?: Informer<Secret>;
  readonly settings?: ClusterSettingsSource;
  /** In OpenShift, another program writes the version to the ControllerConfig. */
  readonly stampVersion?: boolean;
}

/** Creates the controller that writes the MachineConfigs of the templates, and reverts changes by other clients. */
export function createTemplateController(context: ConfigContext, options: TemplateControllerOptions): Controller {
  const { caches, clock, random, log, metrics } = context;
  const reconcile = (key: Key) => sync(context, options, key);
  const controller = createController({
    name: 'template',
    concurrency: 1,
    clock,
    random,
    log,
    reconcile,
    of: caches.controllerConfigs,
    metrics,
  });
  controller.watch(caches.controllerConfigs, ({ key }) => (key === CONTROLLER_CONFIG_NAME ? [key] : []));
  controller.watch(caches.machineConfigs, ({ object }) =>
    controllerOf(object)?.kind === 'ControllerConfig' ? [CONTROLLER_CONFIG_NAME] : [],
  );
  if (options.secrets)
    controller.watch(options.secrets, ({ object }) => (isWanted(context, object) ? [CONTROLLER_CONFIG_NAME] : []));
  options.settings?.onChange(() => controller.enqueue(CONTROLLER_CONFIG_NAME));
  return controller;
}

function isWanted({ caches }: ConfigContext, { metadata }: Secret): boolean {
  const reference = caches.controllerConfigs.store.get(CONTROLLER_CONFIG_NAME)?.spec?.pullSecret;
  return reference?.name === metadata.name && reference.namespace === metadata.namespace;
}

async function sync(context: ConfigContext, options: TemplateControllerOptions, key: Key): Promise<Outcome> {
  const { caches, clock, client, identity, log, recorder } = context;
  const config = caches.controllerConfigs.store.get(key);
  if (!config) return done;
  const { tree, secrets, settings, stampVersion = true } = options;
  const tlsProfile = settings?.get().tlsProfile;
  const plan = planTemplates({
    controllerConfig: config,
    tree,
    identity,
    stampVersion,
    now: nowText(clock),
    machineConfig: (name) => caches.machineConfigs.store.get(name),
    secret: (namespace, name) => secrets?.store.get(`${namespace}/${name}`),
    tlsProfile: tlsProfile ?? undefined,
  });
  const { annotations, begin, create, update, status, error } = plan;
  let newest = config;
  if (annotations) {
    const body = { metadata: { uid: config.metadata.uid, annotations } };
    newest = await client.resource(controllerConfigs).patch(key, { type: 'merge', body });
    caches.controllerConfigs.recordWrite(newest);
  }
  if (begin) newest = await writeStatus(context, newest, begin);
  for (const one of create) caches.machineConfigs.recordWrite(await client.resource(machineConfigs).create(one));
  for (const one of update) caches.machineConfigs.recordWrite(await client.resource(machineConfigs).update(one));
  if (status) await writeStatus(context, newest, status);
  if (error === undefined) return done;
  // The controller watches the object with the error, so a change of the object starts the next reconcile.
  log.warn('Templates are invalid, no MachineConfigs written', { reason: error });
  if (status) {
    const hint = `correct the template, or the field in spec of ControllerConfig ${newest.metadata.name}`;
    recorder.event(newest, 'Warning', ConfigEvents.TemplatesFailed, `${error}${HINT_MARK}${hint}`);
  }
  return done;
}

async function writeStatus(
  { client, caches }: ConfigContext,
  { metadata }: ControllerConfig,
  status: ControllerConfigStatus,
): Promise<ControllerConfig> {
  const { name, resourceVersion } = metadata;
  const body = { metadata: { resourceVersion }, status };
  const answer = await client
    .resource(controllerConfigs)
    .patch(name, { type: 'merge', body }, { subresource: 'status' });
  caches.controllerConfigs.recordWrite(answer);
  return answer;
}
