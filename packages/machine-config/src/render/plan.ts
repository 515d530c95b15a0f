import { formatSelector } from '@mcm/api';
import { certificatesOfPool } from '../certificates/bundle.ts';
import type { PlannedEvent } from '../conditions/conditions.ts';
import { conditionOf, type WantedCondition } from '../conditions/conditions.ts';
import { CURE_MARK, failureText } from '../config/cure.ts';
import { RenderError } from '../config/error.ts';
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

/** What one look at a pool reads in order to render it. */
export interface RenderSnapshot {
  readonly pool: MachineConfigPool;
  /** MachineConfigs among which the pool selects. */
  readonly configs: readonly MachineConfig[];
  readonly machineConfig: (name: string) => MachineConfig | undefined;
  readonly controllerConfig: ControllerConfig | undefined;
  readonly kubeletConfigs: readonly KubeletConfig[];
  readonly containerRuntimeConfigs: readonly ContainerRuntimeConfig[];
  readonly identity: ControllerIdentity;
  readonly storageOverrides?: readonly StorageOverride[];
  /** Whether a paused pool is rendered all the same, as the original does. Default false. */
  readonly renderWhilePaused?: boolean;
}

/** What to do for a pool, in this order. */
export interface RenderPlan {
  /** The certificates of the pool, to be created or updated. They do not wait for the rest. */
  readonly certificates?: { readonly write: 'create' | 'update'; readonly machineConfig: MachineConfig };
  /** To be created, since there is none of its name. */
  readonly create?: MachineConfig;
  /** To be restored, since somebody changed it. */
  readonly update?: MachineConfig;
  /** The pool's new target, or the same with other sources. */
  readonly configuration?: PoolConfiguration;
  /** RenderDegraded as it should be; absent: it is right. */
  readonly condition?: WantedCondition;
  /** Degraded as it should be, for a pool whose nodes nobody counts. */
  readonly degraded?: WantedCondition;
  readonly events: readonly PlannedEvent[];
  /** What keeps it from being done, in words for the log. Something that changes will wake the pool again. */
  readonly error?: string;
}

/** Decides what a pool's rendering needs now. Pure. */
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
  // Certificates rotate also where a rollout has to wait.
  if (pool.spec?.paused && !renderWhilePaused) return { ...certificates, events: [] };
  return { ...certificates, ...planTarget(snapshot) };
}

/** The certificates of the pool as its MachineConfigs have them. What is gone from all of them is no change. */
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

/** The API server refuses such selectors; one that is stored all the same is not the configs' fault. */
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

/**
 * Templates that make no MachineConfigs stop the rendering of every pool. The original says so of the ControllerConfig
 * alone; while it is at work nothing is wrong yet.
 */
function failingTemplates(
  pool: MachineConfigPool,
  config: ControllerConfig | undefined,
): Pick<RenderPlan, 'condition'> {
  const failing = conditionOf(config?.status?.conditions, TemplateConditions.Failing);
  if (!config || failing?.status !== 'True') return {};
  const { name } = config.metadata;
  const cure = `correct what is named, in the template or in spec of ControllerConfig ${name}`;
  const error = new RenderError(`ControllerConfig ${name} makes no MachineConfigs: ${failing.message ?? ''}`, { cure });
  const what = `Failed to render configuration for pool ${pool.metadata.name}`;
  const message = failureText(what, error, pool.spec?.configuration?.name);
  return changed(pool, { ...DEGRADED, status: 'True', reason: ConfigEvents.TemplatesFailed, message });
}

const DEGRADED = { type: PoolConditions.RenderDegraded } as const;

const selectsAllNodes = ({ spec }: MachineConfigPool): boolean =>
  Boolean(spec?.nodeSelector) && !isSelecting(spec?.nodeSelector);

/** The original tells of it in an event alone. Whoever counts nodes does nothing for such a pool, so all is said here. */
function selectingAll(
  pool: MachineConfigPool,
  field: 'machineConfigSelector' | 'nodeSelector',
): Pick<RenderPlan, 'condition' | 'degraded'> {
  const { name } = pool.metadata;
  const [what, not] =
    field === 'nodeSelector' ? ['nodes', 'none is told anything'] : ['MachineConfigs', 'nothing is rendered'];
  const message =
    `spec.${field} of MachineConfigPool ${name} is empty, which would select all ${what}: ${not}` +
    `${CURE_MARK}give it matchLabels or matchExpressions`;
  const told = { status: 'True', reason: ConfigEvents.SelectingAll, message } as const;
  const degraded = { type: PoolConditions.Degraded, ...told };
  const same = conditionOf(pool.status?.conditions, degraded.type)?.message === message;
  return {
    ...changed(pool, { ...DEGRADED, ...told }),
    ...(field === 'nodeSelector' && !same && { degraded }),
  };
}

function advance(snapshot: RenderSnapshot, controllerConfig: ControllerConfig): RenderPlan {
  const { pool, machineConfig, identity, storageOverrides } = snapshot;
  const configs = selectMachineConfigs(pool, byName(snapshot.configs));
  if (configs.length === 0) {
    const selector = pool.spec?.machineConfigSelector;
    throw new RenderError(`no MachineConfigs found matching selector ${selector ? formatSelector(selector) : ''}`, {
      cure: `correct spec.machineConfigSelector of MachineConfigPool ${pool.metadata.name}, or label MachineConfigs so that it selects them`,
    });
  }
  const target = pool.spec?.configuration?.name;
  const current = target ? machineConfig(target) : undefined;
  const rendered = generate({
    ...{ pool, controllerConfig, configs, identity },
    ...(current && { current }),
    ...(storageOverrides && { storageOverrides }),
  });
  const stored = machineConfig(rendered.machineConfig.metadata.name);
  const applied = stored && applyMachineConfig(stored, rendered.machineConfig);
  const configuration = configurationOf(rendered);
  const same = JSON.stringify(configuration) === JSON.stringify(pool.spec?.configuration);
  // It is the target, or becomes it: whoever changed it, or owned it before, has no say in what nodes get.
  const restore = applied?.modified;
  return {
    ...(!stored && { create: rendered.machineConfig }),
    ...(restore && { update: applied.machineConfig }),
    ...(!same && { configuration }),
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

/** Says in the words of the original which part of the rendering failed. */
function framed<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isRenderFailure(error)) throw error;
    const cure = error instanceof RenderError ? error.cure : undefined;
    throw new RenderError(`${what}: ${error.message}`, { cause: error, cure });
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

/** Refused configs degrade the pool, although the rest of it is rendered. */
function withCondition(pool: MachineConfigPool, plan: RenderPlan, rejected: readonly string[]): RenderPlan {
  if (rejected.length === 0) {
    // It is rendered all the same: a selector that is mended finds its target there.
    if (selectsAllNodes(pool)) return { ...plan, ...selectingAll(pool, 'nodeSelector') };
    return { ...plan, ...changed(pool, { ...DEGRADED, status: 'False' }) };
  }
  const message =
    `Rendered without what was refused: ${rejected.join('; ')}` +
    `${CURE_MARK}correct the fields that are named, or delete what was refused`;
  return { ...plan, ...changed(pool, { ...DEGRADED, status: 'True', reason: 'ConfigRejected', message }) };
}

/** A condition that is False already stays as it is, whatever it says. */
function changed(pool: MachineConfigPool, wanted: WantedCondition): Pick<RenderPlan, 'condition'> {
  const old = conditionOf(pool.status?.conditions, wanted.type);
  if (old?.status === 'False' && wanted.status === 'False') return {};
  const same =
    old?.status === wanted.status && old.message === wanted.message && (old.reason ?? '') === (wanted.reason ?? '');
  return same ? {} : { condition: wanted };
}

/** Told when a render is made or comes of other MachineConfigs: what nobody reads looks as if it were in force. */
function unknownEvents(configs: readonly MachineConfig[]): readonly PlannedEvent[] {
  const sentences = configs.flatMap(({ metadata, spec }) =>
    unknownIgnitionFields(spec?.config).map((sentence) => `MachineConfig ${metadata.name}: ${sentence}`),
  );
  const message = unknownFieldsText(sentences);
  return message === undefined ? [] : [{ type: 'Warning', reason: ConfigEvents.UnknownFields, message }];
}

/** Told when a render is made, so that there is time before the next file is refused. */
function sizeEvents({ machineConfig, bytes }: Rendered & { readonly bytes: number }): readonly PlannedEvent[] {
  if (bytes <= MAX_RENDERED_BYTES * LARGE_RENDERED_SHARE) return [];
  const share = Math.floor((bytes / MAX_RENDERED_BYTES) * 100);
  const message =
    `MachineConfig ${machineConfig.metadata.name} has ${bytes} bytes, ${share} % of the ${MAX_RENDERED_BYTES} that are ` +
    'possible: make files smaller or fetch them from elsewhere';
  return [{ type: 'Warning', reason: ConfigEvents.RenderedConfigLarge, message }];
}
