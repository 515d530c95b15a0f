import type { OwnerReference } from '@mcm/kube';
import { withoutUndefined } from '@mcm/kube';
import { byName } from '../config/order.ts';
import { applyMachineConfig } from '../config/render/apply.ts';
import { controllerConfigGate } from '../config/render/gates.ts';
import { ConfigAnnotations } from '../constants/annotations.ts';
import { ConfigLabels } from '../constants/labels.ts';
import { emptyIgnition } from '../ignition/index.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import { API_VERSION } from '../kinds/group.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { unknownFieldsText } from '../kinds/unknown-fields.ts';
import { TemplateError } from '../templates/engine.ts';
import { NodeConfigError } from './error.ts';
import type { NodeConfig, NodeConfigInput, NodeConfigKind } from './kind.ts';
import { nameNodeConfig, selecting, withSuffixFor } from './names.ts';

/** The input for the decision about a KubeletConfig or ContainerRuntimeConfig. */
export interface NodeConfigSnapshot<T extends NodeConfig> extends Omit<NodeConfigInput, 'controllerConfig'> {
  readonly config: T;
  readonly stored: readonly T[];
  readonly pools: readonly MachineConfigPool[];
  readonly machineConfigs: readonly MachineConfig[];
  readonly controllerConfig: ControllerConfig | undefined;
  readonly hash: string;
}

export interface NodeConfigVerdict {
  readonly problem?: string;
  readonly hint?: string;
  /** A text about unknown fields. Unknown fields do not cause a refusal. */
  readonly ignored?: string;
}

/**
 * The actions for a KubeletConfig or ContainerRuntimeConfig. The controller writes MachineConfigs first, then the
 * object and its status, and deletes outdated MachineConfigs last.
 */
export interface NodeConfigPlan {
  readonly create: readonly MachineConfig[];
  readonly update: readonly MachineConfig[];
  readonly remove: readonly string[];
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly verdict?: NodeConfigVerdict;
  readonly error?: string;
}

const NOTHING: NodeConfigPlan = { create: [], update: [], remove: [] };

export function planNodeConfig<T extends NodeConfig>(
  kind: NodeConfigKind<T>,
  snapshot: NodeConfigSnapshot<T>,
): NodeConfigPlan {
  const { config, controllerConfig } = snapshot;
  if (config.metadata.deletionTimestamp !== undefined) return takeDown(config);
  const closed = controllerConfigGate(controllerConfig);
  if (closed !== undefined || !controllerConfig) return { ...NOTHING, error: closed ?? '' };
  const work = new Work(kind, snapshot, controllerConfig);
  const unknown = unknownFieldsText(kind.unknown(config));
  const ignored = unknown === undefined ? {} : { ignored: unknown };
  try {
    work.run();
    return work.plan({ verdict: ignored, remove: leftOver(kind, snapshot, work.names) });
  } catch (error) {
    if (!(error instanceof NodeConfigError) && !(error instanceof TemplateError)) throw error;
    const about = error instanceof NamingFailure ? `could not get ${kind.naming.noun} key` : 'Error';
    const problem = `${about}: ${error.message}`;
    const { name } = config.metadata;
    const own = error instanceof NodeConfigError ? error.hint : undefined;
    const hint =
      own ??
      `correct the fields in spec of ${kind.kind} ${name}, or delete the object; the controller applies no setting of the object`;
    return work.plan({ verdict: { problem, hint, ...ignored }, error: error.message, remove: [] });
  }
}

/** Plans the deletion of an object: each call deletes one MachineConfig, and the last call the object. */
function takeDown({ metadata }: NodeConfig): NodeConfigPlan {
  const [first, ...rest] = metadata.finalizers ?? [];
  return first === undefined ? NOTHING : { ...NOTHING, remove: [first], finalizers: rest };
}

/** The error if no name is free for the MachineConfig. */
class NamingFailure extends NodeConfigError {}

/** Collects the actions for an object; if one pool fails, the results of the earlier pools stay. */
class Work<T extends NodeConfig> {
  readonly names: string[] = [];
  readonly #kind: NodeConfigKind<T>;
  readonly #snapshot: NodeConfigSnapshot<T>;
  readonly #controllerConfig: ControllerConfig;
  readonly #create: MachineConfig[] = [];
  readonly #update: MachineConfig[] = [];
  readonly #former: string[] = [];
  #config: T;

  constructor(kind: NodeConfigKind<T>, snapshot: NodeConfigSnapshot<T>, controllerConfig: ControllerConfig) {
    this.#kind = kind;
    this.#snapshot = snapshot;
    this.#controllerConfig = controllerConfig;
    this.#config = snapshot.config;
  }

  run(): void {
    const { pools, config } = this.#snapshot;
    this.#kind.validate(config);
    const own = byName(pools).filter((pool) => selecting(pool, [config]).length > 0);
    if (own.length === 0) {
      throw new NodeConfigError(`could not find any MachineConfigPool set for ${this.#kind.noPool(config)}`, {
        hint: 'change spec.machineConfigPoolSelector to match labels of a MachineConfigPool; an empty selector matches no pool',
      });
    }
    for (const pool of own) this.#doPool(pool);
  }

  plan(rest: Pick<NodeConfigPlan, 'verdict' | 'error' | 'remove'>): NodeConfigPlan {
    const { annotations, finalizers } = this.#config.metadata;
    const { metadata } = this.#snapshot.config;
    return {
      create: this.#create,
      update: this.#update,
      ...rest,
      remove: [...this.#former, ...rest.remove],
      annotations: annotations !== metadata.annotations && annotations ? annotations : undefined,
      finalizers: finalizers !== metadata.finalizers && finalizers ? finalizers : undefined,
    };
  }

  #doPool(pool: MachineConfigPool): void {
    const { machineConfigs } = this.#snapshot;
    this.#kind.validateFor(this.#config, pool);
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
      return nameNodeConfig({
        naming: this.#kind.naming,
        pool,
        config: this.#config,
        stored: [...others, this.#config],
        exists,
      });
    } catch (error) {
      if (error instanceof NodeConfigError) throw new NamingFailure(error.message, { cause: error });
      throw error;
    }
  }

  #machineConfig(pool: MachineConfigPool, name: string): MachineConfig {
    const { tree, cluster, hash, config } = this.#snapshot;
    const role = pool.metadata.name;
    const files = this.#kind.files(config, pool, { tree, cluster, controllerConfig: this.#controllerConfig });
    const metadata: Partial<MachineConfig['metadata']> = {
      name,
      labels: { [ConfigLabels.Role]: role },
      annotations: { [ConfigAnnotations.GeneratedByControllerVersion]: hash },
      ownerReferences: [ownerOf(this.#kind.kind, config)],
    };
    const spec = { config: { ...emptyIgnition(), storage: { files: [...files] } } };
    return { apiVersion: API_VERSION, kind: 'MachineConfig', metadata: metadata as MachineConfig['metadata'], spec };
  }

  /** The controller removes finalizers in older formats. */
  #remember(pool: string, suffix: string, name: string): void {
    const { metadata } = this.#config;
    const wanted = withSuffixFor(this.#config, pool, suffix);
    const same = JSON.stringify(wanted) === JSON.stringify(metadata.annotations);
    const old = metadata.finalizers ?? [];
    const kept = old.every((finalizer) => finalizer.includes(this.#kind.naming.part)) ? old : [];
    const finalizers = kept.includes(name) ? kept : [...kept, name];
    this.#config = {
      ...this.#config,
      metadata: {
        ...metadata,
        ...withoutUndefined({
          annotations: !same ? wanted : undefined,
          finalizers: JSON.stringify(finalizers) !== JSON.stringify(old) ? [...finalizers] : undefined,
        }),
      },
    } as T;
  }
}

const ownerOf = (kind: string, { metadata }: NodeConfig): OwnerReference => ({
  apiVersion: API_VERSION,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

/**
 * Finds unnecessary MachineConfigs that another version of the controller generated.
 * - A MachineConfig with a known owner stays, because its deletion would briefly remove settings from the pools.
 */
function leftOver<T extends NodeConfig>(
  { naming }: NodeConfigKind<T>,
  snapshot: NodeConfigSnapshot<T>,
  names: readonly string[],
): readonly string[] {
  const form = new RegExp(`^99-.+-generated-${naming.part}(-\\d)?$`);
  const { machineConfigs, hash, stored, config } = snapshot;
  const others = new Set(stored.flatMap(({ metadata: { uid } }) => (uid && uid !== config.metadata.uid ? [uid] : [])));
  return machineConfigs.flatMap(({ metadata: { name, annotations, ownerReferences } }) => {
    if (ownerReferences?.some(({ uid }) => others.has(uid))) return [];
    const by = annotations?.[ConfigAnnotations.GeneratedByControllerVersion] ?? '';
    const ours = form.test(name);
    return ours && by !== '' && by !== hash && !names.includes(name) ? [name] : [];
  });
}
