import type { Change } from '@mcm/kube';
import { withoutUndefined } from '@mcm/kube';
import {
  applyMachineConfig,
  type ConfigCondition,
  type ContainerRuntimeConfig,
  type ControllerConfig,
  type KubeletConfig,
  type MachineConfig,
  type MachineConfigPool,
  planRender,
  poolsToRender,
  type StorageOverride,
  withCondition,
} from '@mcm/machine-config';
import type { Call } from './call.ts';

type Step = { sync: string } | { putMachineConfig: MachineConfig } | { deleteMachineConfig: string };

interface Input {
  readonly controllerVersion: string;
  readonly controllerHash: string;
  readonly pools: readonly MachineConfigPool[];
  readonly machineConfigs: readonly MachineConfig[];
  readonly controllerConfig?: ControllerConfig;
  readonly kubeletConfigs?: readonly KubeletConfig[];
  readonly containerRuntimeConfigs?: readonly ContainerRuntimeConfig[];
  readonly storageOverrides?: readonly StorageOverride[];
  readonly irreconcilableGate?: boolean;
  readonly steps: readonly Step[];
}

const NOW = '<now>';

const GO_ZEROS = { baseOSExtensionsContainerImage: '', fips: false, kernelType: '', osImageURL: '' };

class World {
  readonly #input: Input;
  readonly #configs: Map<string, MachineConfig>;
  readonly #pools: Map<string, MachineConfigPool>;

  constructor(input: Input) {
    this.#input = input;
    this.#configs = new Map(input.machineConfigs.map((config) => [config.metadata.name, config]));
    this.#pools = new Map(input.pools.map((pool) => [pool.metadata.name, pool]));
  }

  play(step: Step): Record<string, unknown> | undefined {
    if ('sync' in step) return this.#sync(step.sync);
    if ('deleteMachineConfig' in step) this.#configs.delete(step.deleteMachineConfig);
    else this.#put(step.putMachineConfig);
    return undefined;
  }

  #put(config: MachineConfig): void {
    const old = this.#configs.get(config.metadata.name);
    const { labels } = config.metadata;
    const metadata = old ? { ...old.metadata, ...withoutUndefined({ labels }) } : config.metadata;
    this.#configs.set(config.metadata.name, { ...config, metadata });
  }

  #sync(name: string): Record<string, unknown> {
    const pool = this.#pools.get(name);
    const { error, events } = pool ? this.#render(pool) : { error: undefined, events: [] };
    return {
      sync: name,
      error: error ?? null,
      events: events.map(({ type, reason, message }) => `${type} ${reason} ${message}`),
      pools: Object.fromEntries([...this.#pools].map(([key, one]) => [key, recordedPool(one)])),
      rendered: this.#rendered(),
    };
  }

  #render(pool: MachineConfigPool) {
    const { controllerVersion, controllerHash, controllerConfig, irreconcilableGate, storageOverrides } = this.#input;
    const plan = planRender({
      pool,
      controllerConfig,
      configs: [...this.#configs.values()],
      machineConfig: (name) => this.#configs.get(name),
      renderWhilePaused: true,
      kubeletConfigs: this.#input.kubeletConfigs ?? [],
      containerRuntimeConfigs: this.#input.containerRuntimeConfigs ?? [],
      identity: { version: controllerVersion, hash: controllerHash },
      storageOverrides: irreconcilableGate && storageOverrides ? storageOverrides : undefined,
    });
    const { create, update, configuration, condition } = plan;
    if (create) this.#configs.set(create.metadata.name, create);
    if (update) this.#configs.set(update.metadata.name, update);
    const conditions = (pool.status?.conditions ?? []) as readonly ConfigCondition[];
    this.#pools.set(pool.metadata.name, {
      ...pool,
      ...withoutUndefined({
        spec: configuration ? { ...pool.spec, configuration } : undefined,
        status: condition ? { ...pool.status, conditions: [...withCondition(conditions, condition, NOW)] } : undefined,
      }),
    });
    return plan;
  }

  #rendered(): unknown[] {
    const names = [...this.#configs.keys()].filter((name) => name.startsWith('rendered-')).toSorted();
    return names.map((name) => {
      const { metadata, spec } = this.#configs.get(name) as MachineConfig;
      const { annotations, labels, ownerReferences } = metadata;
      return { annotations, labels, name, ownerReferences, spec: { ...GO_ZEROS, ...spec } };
    });
  }
}

const recordedPool = ({ spec, status }: MachineConfigPool) => ({
  conditions: (status?.conditions ?? []).map((condition) => ({ ...condition, lastTransitionTime: NOW })),
  configuration: {
    name: spec?.configuration?.name ?? '',
    source: (spec?.configuration?.source ?? []).map(({ name }) => name),
  },
});

interface EventInput {
  readonly pools: readonly MachineConfigPool[];
  readonly event: 'add' | 'update' | 'delete';
  readonly machineConfig: MachineConfig;
  readonly old?: MachineConfig;
}

function event({ pools, event: kind, machineConfig: object, old }: EventInput): Record<string, unknown> {
  const key = object.metadata.name;
  const change: Change<MachineConfig> =
    kind === 'update' && old
      ? { type: 'updated', key, object, old }
      : { type: kind === 'add' ? 'added' : 'deleted', key, object };
  return { enqueued: poolsToRender(change, pools).toSorted() };
}

/** Runs several complete syncs of the RenderController. */
export function renderSync(input: Input): Record<string, unknown> {
  const world = new World(input);
  return { steps: input.steps.flatMap((step) => world.play(step) ?? []) };
}

export const renderSyncCalls: Readonly<Record<string, Call>> = {
  'render-sync': renderSync,
  'render-event': event,
  apply: ({ existing, required }: { existing: MachineConfig; required: MachineConfig }) => {
    const { modified, machineConfig } = applyMachineConfig(existing, required);
    const { metadata, spec } = machineConfig;
    const { name, labels, annotations, ownerReferences } = metadata;
    return {
      modified,
      result: { metadata: { name, labels, annotations, ownerReferences }, spec: { ...GO_ZEROS, ...spec } },
    };
  },
};
