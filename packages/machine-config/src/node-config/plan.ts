import type { OwnerReference } from '@mcm/kube';
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

/** What one look at an object reads. */
export interface NodeConfigSnapshot<T extends NodeConfig> extends Omit<NodeConfigInput, 'controllerConfig'> {
  readonly config: T;
  readonly stored: readonly T[];
  readonly pools: readonly MachineConfigPool[];
  readonly machineConfigs: readonly MachineConfig[];
  readonly controllerConfig: ControllerConfig | undefined;
  /** Hash of this controller's build. */
  readonly hash: string;
}

/** What came of an object. */
export interface NodeConfigVerdict {
  /** Why it was refused; absent: it was accepted. */
  readonly problem?: string;
  /** What the event adds to the problem. */
  readonly cure?: string;
  /** Fields that nobody reads: told, and nothing else. */
  readonly ignored?: string;
}

/** What to do for an object, in this order: MachineConfigs, the object, its status, what is left over. */
export interface NodeConfigPlan {
  readonly create: readonly MachineConfig[];
  readonly update: readonly MachineConfig[];
  readonly remove: readonly string[];
  /** Annotations and finalizers as they should be; absent: they are right. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  /** A verdict to be written. */
  readonly verdict?: NodeConfigVerdict;
  readonly error?: string;
}

const NOTHING: NodeConfigPlan = { create: [], update: [], remove: [] };

/** Decides what an object needs now. Pure. */
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
    const own = error instanceof NodeConfigError ? error.cure : undefined;
    const cure =
      own ?? `correct what is named in spec of ${kind.kind} ${name}, or delete it; nothing of it is on nodes`;
    return work.plan({ verdict: { problem, cure, ...ignored }, error: error.message, remove: [] });
  }
}

/** One MachineConfig a look, in the order of the finalizers, and the object goes last. */
function takeDown({ metadata }: NodeConfig): NodeConfigPlan {
  const [first, ...rest] = metadata.finalizers ?? [];
  return first === undefined ? NOTHING : { ...NOTHING, remove: [first], finalizers: rest };
}

/** A name that could not be given; the original tells of it in other words. */
class NamingFailure extends NodeConfigError {}

/** The pools of an object, worked off in order: what was done before a failure stays done. */
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
        cure: 'let spec.machineConfigPoolSelector match labels of a MachineConfigPool; an empty one matches none',
      });
    }
    for (const pool of own) this.#doPool(pool);
  }

  plan(rest: Pick<NodeConfigPlan, 'verdict' | 'error' | 'remove'>): NodeConfigPlan {
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

  /** The suffix as annotation and the name as finalizer. Finalizers of older forms go. */
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
        ...(!same && { annotations: wanted }),
        ...(JSON.stringify(finalizers) !== JSON.stringify(old) && { finalizers: [...finalizers] }),
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
 * Generated MachineConfigs that another version of this controller made and nobody wants any more. The name alone says
 * nothing: without a version it is a user's. What another object owns is that one's to renew: without it for a
 * moment, its pools would be rendered without the user's settings.
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
