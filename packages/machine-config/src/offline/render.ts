import type { KubeObject, Secret } from '@mcm/kube';
import * as z from 'zod';
import { byName } from '../config/order.ts';
import { type ControllerIdentity, checkSize, renderPool } from '../config/render/render.ts';
import { selectMachineConfigs, selectsAll } from '../config/select.ts';
import { type TlsProfile, tlsSettings } from '../config/tls.ts';
import { isRenderFailure } from '../config/validate.ts';
import { ConfigAnnotations } from '../constants/annotations.ts';
import { TemplateConditions } from '../constants/conditions.ts';
import { ConfigLabels } from '../constants/labels.ts';
import { CONTROLLER_CONFIG_NAME, MASTER_POOL, WORKER_POOL } from '../constants/names.ts';
import { type ContainerRuntimeConfig, containerRuntimeConfigSchema } from '../kinds/container-runtime-config.ts';
import { type ControllerConfig, controllerConfigSchema } from '../kinds/controller-config.ts';
import { API_VERSION } from '../kinds/group.ts';
import { type KubeletConfig, kubeletConfigSchema } from '../kinds/kubelet-config.ts';
import { type MachineConfig, machineConfigSchema } from '../kinds/machine-config.ts';
import { type MachineConfigPool, machineConfigPoolSchema } from '../kinds/machine-config-pool.ts';
import { KUBELET_KIND } from '../kubelet/kind.ts';
import { NodeConfigError } from '../node-config/error.ts';
import type { NodeConfig, NodeConfigKind } from '../node-config/kind.ts';
import { selecting } from '../node-config/names.ts';
import { planNodeConfig } from '../node-config/plan.ts';
import { RUNTIME_KIND } from '../runtime/kind.ts';
import { TemplateError } from '../templates/engine.ts';
import { generateMachineConfigs } from '../templates/generate.ts';
import { pullSecretOf } from '../templates/pull-secret.ts';
import type { TemplateTree } from '../templates/tree.ts';
import { unknownInSpec } from './unknown.ts';

/** Input of a rendering without a cluster. */
export interface OfflineInput {
  readonly objects: readonly KubeObject[];
  readonly tree: TemplateTree;
  readonly tlsProfile?: TlsProfile;
}

/** The result of the rendering of a pool. */
export interface OfflinePool {
  readonly name: string;
  readonly machineConfig?: MachineConfig;
  readonly sources: readonly string[];
  readonly problem?: string;
}

/** The results for all objects. */
export interface OfflineResult {
  readonly pools: readonly OfflinePool[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * The identity in the annotations of all objects. One version is sufficient, because the offline rendering reads no
 * stored objects of other versions.
 */
const IDENTITY: ControllerIdentity = { version: 'offline', hash: 'offline' };

const builtIn = (name: string): MachineConfigPool =>
  ({
    apiVersion: API_VERSION,
    kind: 'MachineConfigPool',
    metadata: {
      name,
      uid: name,
      resourceVersion: '',
      creationTimestamp: '',
      labels: { [`${ConfigLabels.PoolPrefix}${name}`]: '' },
    },
    spec: { machineConfigSelector: { matchLabels: { [ConfigLabels.Role]: name } } },
  }) as MachineConfigPool;

/**
 * Renders pools without a cluster, with the code of the controllers. The order of the objects does not affect the
 * result.
 */
export function renderOffline({ objects, tree, tlsProfile = { type: 'Intermediate' } }: OfflineInput): OfflineResult {
  const [problems, warnings]: [string[], string[]] = [[], []];
  const given = read(objects, problems, warnings);
  const controllerConfig = completed(given.controllerConfigs[0]);
  const pools = given.pools.length > 0 ? byName(given.pools) : [MASTER_POOL, WORKER_POOL].map(builtIn);
  const configs = [...given.machineConfigs];
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof TemplateError || error instanceof NodeConfigError)) throw error;
      problems.push(error.message);
    }
  };
  attempt(() => {
    const secret = (namespace: string, name: string) =>
      given.secrets.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
    const pullSecret = pullSecretOf(controllerConfig, secret);
    const input = {
      tree,
      controllerConfig,
      ...tlsSettings(tlsProfile),
      pullSecret,
    };
    configs.push(...generateMachineConfigs(input, IDENTITY.hash));
  });
  const make = <T extends NodeConfig>(kind: NodeConfigKind<T>, stored: readonly T[]) => {
    attempt(() => checkOnePerPool(kind, stored, pools));
    for (const config of byName(stored)) {
      const cluster = { featureGates: {}, tlsProfile };
      const snapshot = { config, stored: [config], pools, machineConfigs: [], controllerConfig, tree, cluster };
      const plan = planNodeConfig(kind, { ...snapshot, hash: IDENTITY.hash });
      const { ignored } = plan.verdict ?? {};
      if (ignored !== undefined) warnings.push(`${kind.kind} ${config.metadata.name}: ${ignored}`);
      if (plan.error !== undefined) problems.push(`${kind.kind} ${config.metadata.name}: ${plan.error}`);
      configs.push(...plan.create);
    }
  };
  make(KUBELET_KIND, given.kubeletConfigs);
  make(RUNTIME_KIND, given.runtimeConfigs);
  return { pools: pools.map((pool) => render(pool, controllerConfig, configs)), problems, warnings };
}

function render(
  pool: MachineConfigPool,
  controllerConfig: ControllerConfig,
  configs: readonly MachineConfig[],
): OfflinePool {
  const { name } = pool.metadata;
  if (selectsAll(pool))
    return { name, sources: [], problem: 'spec.machineConfigSelector is empty, which matches all MachineConfigs' };
  const selected = selectMachineConfigs(pool, byName(configs));
  if (selected.length === 0)
    return { name, sources: [], problem: 'spec.machineConfigSelector selects no MachineConfig' };
  try {
    const { machineConfig, sources } = renderPool({ pool, controllerConfig, configs: selected, identity: IDENTITY });
    checkSize(machineConfig);
    return { name, machineConfig, sources: sources.map(({ metadata }) => metadata.name) };
  } catch (error) {
    if (!isRenderFailure(error)) throw error;
    return { name, sources: selected.map(({ metadata }) => metadata.name), problem: error.message };
  }
}

/** Refuses two objects of one kind for a pool, because their order of creation is unknown without a cluster. */
function checkOnePerPool<T extends NodeConfig>(
  { kind }: NodeConfigKind<T>,
  stored: readonly T[],
  pools: readonly MachineConfigPool[],
): void {
  for (const pool of pools) {
    const names = selecting(pool, stored).map(({ metadata }) => metadata.name);
    if (names.length < 2) continue;
    throw new NodeConfigError(
      `pool ${pool.metadata.name} is selected by more than one ${kind}: ${names.toSorted().join(', ')}. ` +
        'In a cluster, the newest object takes precedence. Without a cluster, the ages are unknown: keep only one object',
    );
  }
}

/** Returns the ControllerConfig with the status that the TemplateController writes. */
function completed(given: ControllerConfig | undefined): ControllerConfig {
  const config =
    given ?? ({ metadata: { name: CONTROLLER_CONFIG_NAME }, spec: { platform: 'none' } } as ControllerConfig);
  const annotations = { ...config.metadata.annotations, [ConfigAnnotations.GeneratedByVersion]: IDENTITY.version };
  const conditions = [{ type: TemplateConditions.Completed, status: 'True' as const }];
  const metadata = { ...config.metadata, annotations, generation: 1 };
  return { ...config, metadata, status: { observedGeneration: 1, conditions } };
}

const specOf = (object: KubeObject): { readonly spec?: unknown } => ('spec' in object ? { spec: object.spec } : {});

interface Given {
  readonly machineConfigs: readonly MachineConfig[];
  readonly pools: readonly MachineConfigPool[];
  readonly controllerConfigs: readonly ControllerConfig[];
  readonly kubeletConfigs: readonly KubeletConfig[];
  readonly runtimeConfigs: readonly ContainerRuntimeConfig[];
  readonly secrets: readonly Secret[];
}

function read(objects: readonly KubeObject[], problems: string[], warnings: string[]): Given {
  const of = <T extends KubeObject>(kind: string, schema: z.ZodObject): readonly T[] =>
    objects.flatMap((object) => {
      if (object.kind !== kind || object.apiVersion !== API_VERSION) return [];
      const parsed = schema.safeParse({
        ...object,
        metadata: { ...object.metadata, uid: object.metadata.uid || object.metadata.name },
      });
      const unknown = unknownInSpec(kind, schema, specOf(object).spec);
      if (unknown !== undefined) warnings.push(`${kind} ${object.metadata.name}: ${unknown}`);
      // The object stays unchanged, because templates may use fields that are not in the schema.
      if (parsed.success) return [{ ...(parsed.data as T), ...(kind === 'ControllerConfig' && specOf(object)) }];
      problems.push(`${kind} ${object.metadata.name}: ${z.prettifyError(parsed.error)}`);
      return [];
    });
  return {
    // The offline rendering generates MachineConfigs itself, so it ignores rendered and generated MachineConfigs.
    machineConfigs: of<MachineConfig>('MachineConfig', machineConfigSchema).filter(
      ({ metadata }) => !metadata.annotations?.[ConfigAnnotations.GeneratedByControllerVersion],
    ),
    pools: of<MachineConfigPool>('MachineConfigPool', machineConfigPoolSchema),
    controllerConfigs: of<ControllerConfig>('ControllerConfig', controllerConfigSchema),
    kubeletConfigs: of<KubeletConfig>('KubeletConfig', kubeletConfigSchema),
    runtimeConfigs: of<ContainerRuntimeConfig>('ContainerRuntimeConfig', containerRuntimeConfigSchema),
    secrets: objects.filter((object): object is Secret => object.kind === 'Secret'),
  };
}
