import type { OwnerReference } from '@mcm/kube';
import { ConfigAnnotations } from '../constants/annotations.ts';
import { ConfigLabels } from '../constants/labels.ts';
import { API_VERSION } from '../group.ts';
import { emptyIgnition } from '../ignition/index.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { applyMachineConfig } from '../render/apply.ts';
import { controllerConfigGate } from '../render/gates.ts';
import { byName } from '../render/order.ts';
import { TemplateError } from '../templates/engine.ts';
import type { TemplateTree } from '../templates/tree.ts';
import { baseKubeletConfiguration, type ClusterSettings, withLatency } from './base.ts';
import { kubeletFiles } from './files.ts';
import { nameKubeletConfig, selecting, withSuffixFor } from './names.ts';
import type { TlsProfile } from './tls.ts';
import { KubeletConfigError, validateKubeletConfig, validateStaticPodPath } from './validate.ts';

/** What one look at a KubeletConfig reads. */
export interface KubeletSnapshot {
  readonly config: KubeletConfig;
  readonly stored: readonly KubeletConfig[];
  readonly pools: readonly MachineConfigPool[];
  readonly machineConfigs: readonly MachineConfig[];
  readonly controllerConfig: ControllerConfig | undefined;
  readonly tree: TemplateTree;
  readonly cluster: ClusterSettings;
  /** Hash of this controller's build. */
  readonly hash: string;
}

/** What to do for a KubeletConfig, in this order: MachineConfigs, the object, its status, what is left over. */
export interface KubeletPlan {
  readonly create: readonly MachineConfig[];
  readonly update: readonly MachineConfig[];
  readonly remove: readonly string[];
  /** Annotations and finalizers as they should be; absent: they are right. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  /** A verdict to be written; `problem` is its message. */
  readonly verdict?: { readonly problem?: string };
  readonly error?: string;
}

const NOTHING: KubeletPlan = { create: [], update: [], remove: [] };

/** Decides what a KubeletConfig needs now. Pure. */
export function planKubeletConfig(snapshot: KubeletSnapshot): KubeletPlan {
  const { config, controllerConfig } = snapshot;
  if (config.metadata.deletionTimestamp !== undefined) return takeDown(config);
  const closed = controllerConfigGate(controllerConfig);
  if (closed !== undefined || !controllerConfig) return { ...NOTHING, error: closed ?? '' };
  const work = new Work(snapshot, controllerConfig);
  try {
    work.run();
    return work.plan({ verdict: {}, remove: leftOver(snapshot, work.names) });
  } catch (error) {
    if (!(error instanceof KubeletConfigError) && !(error instanceof TemplateError)) throw error;
    const problem = error instanceof NamingFailure ? error.told : `Error: ${error.message}`;
    return work.plan({ verdict: { problem }, error: error.message, remove: [] });
  }
}

/** One MachineConfig a look, in the order of the finalizers, and the object goes last. */
function takeDown({ metadata }: KubeletConfig): KubeletPlan {
  const [first, ...rest] = metadata.finalizers ?? [];
  return first === undefined ? NOTHING : { ...NOTHING, remove: [first], finalizers: rest };
}

/** A name that could not be given; the original tells of it in other words. */
class NamingFailure extends KubeletConfigError {
  get told(): string {
    return `could not get kubelet config key: ${this.message}`;
  }
}

/** The pools of a KubeletConfig, worked off in order: what was done before a failure stays done. */
class Work {
  readonly names: string[] = [];
  readonly #snapshot: KubeletSnapshot;
  readonly #controllerConfig: ControllerConfig;
  readonly #create: MachineConfig[] = [];
  readonly #update: MachineConfig[] = [];
  readonly #former: string[] = [];
  #config: KubeletConfig;

  constructor(snapshot: KubeletSnapshot, controllerConfig: ControllerConfig) {
    this.#snapshot = snapshot;
    this.#controllerConfig = controllerConfig;
    this.#config = snapshot.config;
  }

  run(): void {
    const { pools, config } = this.#snapshot;
    validateKubeletConfig(config);
    const own = byName(pools).filter((pool) => selecting(pool, [config]).length > 0);
    if (own.length === 0) throw new KubeletConfigError('could not find any MachineConfigPool set for KubeletConfig');
    for (const pool of own) this.#doPool(pool);
  }

  plan(rest: Pick<KubeletPlan, 'verdict' | 'error' | 'remove'>): KubeletPlan {
    const { annotations, finalizers } = this.#config.metadata;
    const { metadata } = this.#snapshot.config;
    return {
      ...{ create: this.#create, update: this.#update, ...rest, remove: [...this.#former, ...rest.remove] },
      ...(annotations !== metadata.annotations && annotations && { annotations }),
      ...(finalizers !== metadata.finalizers && finalizers && { finalizers }),
    };
  }

  #doPool(pool: MachineConfigPool): void {
    const { machineConfigs } = this.#snapshot;
    validateStaticPodPath(this.#config, pool);
    const { name, suffix, former } = this.#name(pool);
    const required = this.#machineConfig(pool, name);
    const existing = machineConfigs.find(({ metadata }) => metadata.name === name);
    const applied = existing && applyMachineConfig(existing, required);
    if (!existing) this.#create.push(required);
    else if (applied?.modified) this.#update.push(applied.machineConfig);
    if (former !== undefined) this.#former.push(former);
    this.names.push(name);
    this.#remember(pool.metadata.name, suffix, name);
  }

  #name(pool: MachineConfigPool) {
    const { stored, machineConfigs, config } = this.#snapshot;
    const others = stored.filter(({ metadata }) => metadata.name !== config.metadata.name);
    const exists = (name: string) => machineConfigs.some(({ metadata }) => metadata.name === name);
    try {
      return nameKubeletConfig({ pool, config: this.#config, stored: [...others, this.#config], exists });
    } catch (error) {
      if (error instanceof KubeletConfigError) throw new NamingFailure(error.message, { cause: error });
      throw error;
    }
  }

  #machineConfig(pool: MachineConfigPool, name: string): MachineConfig {
    const { tree, cluster, hash, config } = this.#snapshot;
    const role = pool.metadata.name;
    const tlsProfile = (config.spec?.tlsSecurityProfile as TlsProfile | null | undefined) ?? cluster.tlsProfile;
    const input = { tree, controllerConfig: this.#controllerConfig };
    const base = baseKubeletConfiguration(input, role, { ...cluster, ...(tlsProfile && { tlsProfile }) });
    const files = kubeletFiles(withLatency(base, role, cluster.latencyProfile), config);
    const metadata: Partial<MachineConfig['metadata']> = {
      name,
      labels: { [ConfigLabels.Role]: role },
      annotations: { [ConfigAnnotations.GeneratedByControllerVersion]: hash },
      ownerReferences: [ownerOf(config)],
    };
    const spec = { config: { ...emptyIgnition(), storage: { files: [...files] } } };
    return { apiVersion: API_VERSION, kind: 'MachineConfig', metadata: metadata as MachineConfig['metadata'], spec };
  }

  /** The suffix as annotation and the name as finalizer. Finalizers of older forms go. */
  #remember(pool: string, suffix: string, name: string): void {
    const { metadata } = this.#config;
    const wanted = withSuffixFor(this.#config, pool, suffix);
    const same = JSON.stringify(wanted) === JSON.stringify(metadata.annotations);
    const old = metadata.finalizers ?? [];
    const kept = old.every((finalizer) => finalizer.includes('kubelet')) ? old : [];
    const finalizers = kept.includes(name) ? kept : [...kept, name];
    this.#config = {
      ...this.#config,
      metadata: {
        ...metadata,
        ...(!same && { annotations: wanted }),
        ...(JSON.stringify(finalizers) !== JSON.stringify(old) && { finalizers: [...finalizers] }),
      },
    };
  }
}

const ownerOf = ({ metadata }: KubeletConfig): OwnerReference => ({
  apiVersion: API_VERSION,
  kind: 'KubeletConfig',
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

/**
 * MachineConfigs of kubelets that another version of this controller made and nobody wants any more. The name alone says
 * nothing: without a version it is a user's. What another KubeletConfig owns is that one's to renew: without it for a
 * moment, its pools would be rendered without the user's settings.
 */
function leftOver(snapshot: KubeletSnapshot, names: readonly string[]): readonly string[] {
  const { machineConfigs, hash, stored, config } = snapshot;
  const others = new Set(stored.flatMap(({ metadata: { uid } }) => (uid && uid !== config.metadata.uid ? [uid] : [])));
  return machineConfigs.flatMap(({ metadata: { name, annotations, ownerReferences } }) => {
    if (ownerReferences?.some(({ uid }) => others.has(uid))) return [];
    const by = annotations?.[ConfigAnnotations.GeneratedByControllerVersion] ?? '';
    const ours = /^99-.+-generated-kubelet(-\d)?$/.test(name);
    return ours && by !== '' && by !== hash && !names.includes(name) ? [name] : [];
  });
}
