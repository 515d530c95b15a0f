import { formatSelector } from '@mcm/api';
import { certificatesOfPool } from '../certificates/bundle.ts';
import type { PlannedEvent } from '../conditions/conditions.ts';
import { conditionOf, type WantedCondition } from '../conditions/conditions.ts';
import { RenderError } from '../config/error.ts';
import { failureText, HINT_MARK } from '../config/hint.ts';
import { byName } from '../config/order.ts';
import type { StorageOverride } from '../config/reconcile.ts';
import { applyMachineConfig } from '../config/render/apply.ts';
import { controllerConfigGate, nodeConfigGate } from '../config/render/gates.ts';
import { type ControllerIdentity, checkSize, type Rendered, renderPool } from '../config/render/render.ts';
import { selectMachineConfigs, selectsAll } from '../config/select.ts';
import { isRenderFailure } from '../config/validate.ts';
import { ConfigEvents, PoolConditions, TemplateConditions } from '../constants/conditions.ts';
import { LARGE_RENDERED_SHARE, MAX_RENDERED_BYTES } from '../constants/names.ts';
import { unknownIgnitionFields } from '../ignition/unknown.ts';
import type { ContainerRuntimeConfig } from '../kinds/container-runtime-config.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import { API_VERSION } from '../kinds/group.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool, PoolConfiguration } from '../kinds/machine-config-pool.ts';
import { checkSelector, isSelecting, SelectorError } from '../kinds/selectors.ts';
import { unknownFieldsText } from '../kinds/unknown-fields.ts';

/** The input for the decision about the rendering of a pool. */
export interface RenderSnapshot {
  readonly pool: MachineConfigPool;
  readonly configs: readonly MachineConfig[];
  readonly machineConfig: (name: string) => MachineConfig | undefined;
  readonly controllerConfig: ControllerConfig | undefined;
  readonly kubeletConfigs: readonly KubeletConfig[];
  readonly containerRuntimeConfigs: readonly ContainerRuntimeConfig[];
  readonly identity: ControllerIdentity;
  readonly storageOverrides?: readonly StorageOverride[] | undefined;
  /** Whether the controller renders paused pools, as the original does (default: false). */
  readonly renderWhilePaused?: boolean | undefined;
}

/** The actions for the rendering of a pool, in the order of their execution. */
export interface RenderPlan {
  readonly certificates?: { readonly write: 'create' | 'update'; readonly machineConfig: MachineConfig };
  readonly create?: MachineConfig | undefined;
  readonly update?: MachineConfig | undefined;
  readonly configuration?: PoolConfiguration | undefined;
  readonly condition?: WantedCondition;
  readonly degraded?: WantedCondition | undefined;
  readonly events: readonly PlannedEvent[];
  readonly error?: string;
}

/** Plans the rendering of a pool. */
export function planRender(snapshot: RenderSnapshot): RenderPlan {
  const { pool, renderWhilePaused = false } = snapshot;
  if (pool.metadata.deletionTimestamp !== undefined) return { events: [] };
  if (selectsAll(pool)) {
    if (pool.spec?.paused && !renderWhilePaused) return { events: [] };
    return { events: [SELECTING_ALL], ...selectingAll(pool, 'machineConfigSelector') };
  }
  const unclear = selectorProblem(pool);
  if (unclear !== undefined) return { events: [], error: unclear };
  const certificates = planCertificates(snapshot);
  if (pool.spec?.paused && !renderWhilePaused) return { ...certificates, events: [] };
  return { ...certificates, ...planTarget(snapshot) };
}

/** Plans the certificates of a pool. */
function planCertificates({
  pool,
  configs,
  controllerConfig,
  machineConfig,
}: RenderSnapshot): Pick<RenderPlan, 'certificates'> {
  const wanted = certificatesOfPool(pool, selectMachineConfigs(pool, configs), controllerConfig);
  if (!wanted) return {};
  const stored = machineConfig(wanted.metadata.name);
  if (!stored) return { certificates: { write: 'create', machineConfig: wanted } };
  const { modified, machineConfig: applied } = applyMachineConfig(stored, wanted);
  return modified ? { certificates: { write: 'update', machineConfig: applied } } : {};
}

function planTarget(snapshot: RenderSnapshot): RenderPlan {
  const { pool, controllerConfig, kubeletConfigs, containerRuntimeConfigs } = snapshot;
  const closed = controllerConfigGate(controllerConfig);
  if (closed !== undefined || !controllerConfig) {
    return { events: [], error: closed ?? '', ...failingTemplates(pool, controllerConfig) };
  }
  const { waiting, rejected } = nodeConfigGate(pool, kubeletConfigs, containerRuntimeConfigs);
  if (waiting !== undefined) return { events: [], error: waiting };
  try {
    return withCondition(pool, advance(snapshot, controllerConfig), rejected);
  } catch (error) {
    if (!isRenderFailure(error)) throw error;
    const { name } = pool.metadata;
    const standing = pool.spec?.configuration?.name;
    const message = failureText(`Failed to render configuration for pool ${name}`, error, standing);
    return { events: [], error: error.message, ...changed(pool, { ...DEGRADED, status: 'True', message }) };
  }
}

/**
 * Returns the problem of a selector. The API server refuses an invalid selector, but an older object may contain one.
 */
function selectorProblem({ spec }: MachineConfigPool): string | undefined {
  try {
    checkSelector(spec?.machineConfigSelector ?? undefined);
    return undefined;
  } catch (error) {
    if (error instanceof SelectorError) return error.message;
    throw error;
  }
}

const SELECTING_ALL: PlannedEvent = {
  type: 'Warning',
  reason: ConfigEvents.SelectingAll,
  message: 'This machineconfigpool is selecting all machineconfigs. A non-empty selector is required.',
};

/** The original reports invalid templates only in the ControllerConfig. */
function failingTemplates(
  pool: MachineConfigPool,
  config: ControllerConfig | undefined,
): Pick<RenderPlan, 'condition'> {
  const failing = conditionOf(config?.status?.conditions, TemplateConditions.Failing);
  if (!config || failing?.status !== 'True') return {};
  const { name } = config.metadata;
  const hint = `correct the template, or the field in spec of ControllerConfig ${name}`;
  const error = new RenderError(
    `ControllerConfig ${name} produces no MachineConfigs${failing.message ? `: ${failing.message}` : ''}`,
    {
      hint,
    },
  );
  const summary = `Failed to render configuration for pool ${pool.metadata.name}`;
  const message = failureText(summary, error, pool.spec?.configuration?.name);
  return changed(pool, { ...DEGRADED, status: 'True', reason: ConfigEvents.TemplatesFailed, message });
}

const DEGRADED = { type: PoolConditions.RenderDegraded } as const;

const selectsAllNodes = ({ spec }: MachineConfigPool): boolean =>
  Boolean(spec?.nodeSelector) && !isSelecting(spec?.nodeSelector);

/**
 * Returns the conditions for a pool with an empty selector. The original only sends an event for a pool with an empty
 * selector.
 */
function selectingAll(
  pool: MachineConfigPool,
  field: 'machineConfigSelector' | 'nodeSelector',
): Pick<RenderPlan, 'condition' | 'degraded'> {
  const { name } = pool.metadata;
  const [objects, not] =
    field === 'nodeSelector'
      ? ['nodes', 'no node gets a target']
      : ['MachineConfigs', 'the controller renders no configuration'];
  const message =
    `spec.${field} of MachineConfigPool ${name} is empty, which matches all ${objects}: ${not}` +
    `${HINT_MARK}add matchLabels or matchExpressions`;
  const reported = { status: 'True', reason: ConfigEvents.SelectingAll, message } as const;
  const degraded = { type: PoolConditions.Degraded, ...reported };
  const same = conditionOf(pool.status?.conditions, degraded.type)?.message === message;
  return {
    ...changed(pool, { ...DEGRADED, ...reported }),
    degraded: field === 'nodeSelector' && !same ? degraded : undefined,
  };
}

function advance(snapshot: RenderSnapshot, controllerConfig: ControllerConfig): RenderPlan {
  const { pool, machineConfig, identity, storageOverrides } = snapshot;
  const configs = selectMachineConfigs(pool, byName(snapshot.configs));
  if (configs.length === 0) {
    const selector = pool.spec?.machineConfigSelector;
    throw new RenderError(`no MachineConfigs found matching selector ${selector ? formatSelector(selector) : ''}`, {
      hint: `correct spec.machineConfigSelector of MachineConfigPool ${pool.metadata.name}, or add matching labels to MachineConfigs`,
    });
  }
  const target = pool.spec?.configuration?.name;
  const current = target ? machineConfig(target) : undefined;
  const rendered = generate({
    pool,
    controllerConfig,
    configs,
    identity,
    current,
    storageOverrides,
  });
  const stored = machineConfig(rendered.machineConfig.metadata.name);
  const applied = stored && applyMachineConfig(stored, rendered.machineConfig);
  const configuration = configurationOf(rendered);
  const same = JSON.stringify(configuration) === JSON.stringify(pool.spec?.configuration);
  // The MachineConfig of the target must stay correct, so the controller reverts changes by other clients.
  const restore = applied?.modified;
  return {
    create: !stored ? rendered.machineConfig : undefined,
    update: restore ? applied.machineConfig : undefined,
    configuration: !same ? configuration : undefined,
    events: [
      ...(stored ? [] : [...generatedEvents(rendered, controllerConfig, identity), ...sizeEvents(rendered)]),
      ...(stored && same ? [] : unknownEvents(configs)),
    ],
  };
}

function generate(input: Parameters<typeof renderPool>[0]): Rendered & { readonly bytes: number } {
  const rendered = framed('could not generate rendered MachineConfig', () => renderPool(input));
  const { machineConfig, sources } = rendered;
  return { ...rendered, bytes: framed('size validation failed', () => checkSize(machineConfig, sources)) };
}

function framed<T>(step: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isRenderFailure(error)) throw error;
    const hint = error instanceof RenderError ? error.hint : undefined;
    throw new RenderError(`${step}: ${error.message}`, { cause: error, hint });
  }
}

const configurationOf = ({ machineConfig, sources }: Rendered): PoolConfiguration => ({
  name: machineConfig.metadata.name,
  source: sources.map(({ metadata }) => ({ apiVersion: API_VERSION, kind: 'MachineConfig', name: metadata.name })),
});

function generatedEvents(
  { machineConfig, imageOverridden }: Rendered,
  controllerConfig: ControllerConfig,
  { hash }: ControllerIdentity,
): readonly PlannedEvent[] {
  const { name, annotations = {} } = machineConfig.metadata;
  const release = annotations['machineconfiguration.openshift.io/release-image-version'] ?? '';
  const generated: PlannedEvent = {
    type: 'Normal',
    reason: ConfigEvents.RenderedConfigGenerated,
    message: `${name} successfully generated (release version: ${release}, controller version: ${hash})`,
  };
  if (!imageOverridden) return [generated];
  const message = `OSImageURL was overridden via machineconfig in ${name} (was: ${controllerConfig.spec?.baseOSContainerImage ?? ''} is: ${machineConfig.spec.osImageURL})`;
  return [generated, { type: 'Normal', reason: ConfigEvents.OSImageURLOverridden, message }];
}

/** Sets a pool with a refused KubeletConfig or ContainerRuntimeConfig to Degraded, but renders all other objects. */
function withCondition(pool: MachineConfigPool, plan: RenderPlan, rejected: readonly string[]): RenderPlan {
  if (rejected.length === 0) {
    // The controller also renders a pool with an invalid selector, because the target must be ready when a user
    // corrects the selector.
    if (selectsAllNodes(pool)) return { ...plan, ...selectingAll(pool, 'nodeSelector') };
    return { ...plan, ...changed(pool, { ...DEGRADED, status: 'False' }) };
  }
  const message =
    `Rendered without invalid objects: ${rejected.join('; ')}` +
    `${HINT_MARK}correct the fields that the message names, or delete the invalid objects`;
  return { ...plan, ...changed(pool, { ...DEGRADED, status: 'True', reason: 'ConfigRejected', message }) };
}

function changed(pool: MachineConfigPool, wanted: WantedCondition): Pick<RenderPlan, 'condition'> {
  const old = conditionOf(pool.status?.conditions, wanted.type);
  if (old?.status === 'False' && wanted.status === 'False') return {};
  const same =
    old?.status === wanted.status && old.message === wanted.message && (old.reason ?? '') === (wanted.reason ?? '');
  return same ? {} : { condition: wanted };
}

/** Returns events about unknown fields in MachineConfigs, after a change of the target. */
function unknownEvents(configs: readonly MachineConfig[]): readonly PlannedEvent[] {
  const sentences = configs.flatMap(({ metadata, spec }) =>
    unknownIgnitionFields(spec?.config).map((sentence) => `MachineConfig ${metadata.name}: ${sentence}`),
  );
  const message = unknownFieldsText(sentences);
  return message === undefined ? [] : [{ type: 'Warning', reason: ConfigEvents.UnknownFields, message }];
}

function sizeEvents({ machineConfig, bytes }: Rendered & { readonly bytes: number }): readonly PlannedEvent[] {
  if (bytes <= MAX_RENDERED_BYTES * LARGE_RENDERED_SHARE) return [];
  const share = Math.floor((bytes / MAX_RENDERED_BYTES) * 100);
  const message =
    `MachineConfig ${machineConfig.metadata.name} has ${bytes} bytes, ${share} % of the limit (${MAX_RENDERED_BYTES}). ` +
    'Make files smaller, or download the files on the node';
  return [{ type: 'Warning', reason: ConfigEvents.RenderedConfigLarge, message }];
}
