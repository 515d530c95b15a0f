import { withoutUndefined } from '@mcm/kube';
import {
  type ConfigCondition,
  type ControllerConfig,
  type KubeletConfig,
  type MachineConfig,
  type MachineConfigPool,
  nameKubeletConfig,
  parseDataUrl,
  parseKubeletConf,
  planKubeletConfig,
  serialiseKubelet,
  type TlsProfile,
  withVerdict,
} from '@mcm/machine-config';
import { attempt, type Call } from './call.ts';
import { templateTree } from './templates.ts';

const NOW = '<now>';

interface KeyInput {
  readonly pool: MachineConfigPool;
  readonly kubeletConfigs: readonly KubeletConfig[];
  readonly machineConfigs: readonly MachineConfig[];
  readonly for: KubeletConfig;
}

type Step = { sync: string } | { create: KubeletConfig } | { update: KubeletConfig } | { delete: string };

interface SyncInput {
  readonly controllerHash: string;
  readonly templates: Readonly<Record<string, string>>;
  readonly pools: readonly MachineConfigPool[];
  readonly kubeletConfigs: readonly KubeletConfig[];
  readonly machineConfigs: readonly MachineConfig[];
  readonly controllerConfig: ControllerConfig;
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly apiServer?: { readonly spec: { readonly tlsSecurityProfile?: TlsProfile } };
  readonly nodeConfig?: { readonly spec: { readonly workerLatencyProfile?: string } };
  readonly steps: readonly Step[];
}

class World {
  readonly #input: SyncInput;
  readonly #configs: Map<string, KubeletConfig>;
  readonly #machineConfigs: Map<string, MachineConfig>;

  constructor(input: SyncInput) {
    this.#input = input;
    this.#configs = new Map(input.kubeletConfigs.map((config) => [config.metadata.name, config]));
    this.#machineConfigs = new Map(input.machineConfigs.map((config) => [config.metadata.name, config]));
  }

  play(step: Step): Record<string, unknown> | undefined {
    if ('sync' in step) return this.#sync(step.sync);
    if ('create' in step) this.#configs.set(step.create.metadata.name, step.create);
    if ('update' in step) this.#replace(step.update);
    if ('delete' in step) this.#delete(step.delete);
    return undefined;
  }

  #replace({ metadata: { name }, spec }: KubeletConfig): void {
    const old = this.#configs.get(name);
    if (!old || !spec) return;
    const metadata = { ...old.metadata, generation: (old.metadata.generation ?? 0) + 1 };
    this.#configs.set(name, { ...old, metadata, spec });
  }

  #delete(name: string): void {
    const old = this.#configs.get(name);
    if (!old?.metadata.finalizers?.length) this.#configs.delete(name);
    else this.#configs.set(name, { ...old, metadata: { ...old.metadata, deletionTimestamp: NOW } });
  }

  #sync(name: string): Record<string, unknown> {
    const config = this.#configs.get(name);
    const error = config && this.#carryOut(config);
    return {
      sync: name,
      error: error ?? null,
      kubeletConfigs: sorted(this.#configs).map(recordedConfig),
      machineConfigs: sorted(this.#machineConfigs).map(recordedMachineConfig),
    };
  }

  #carryOut(config: KubeletConfig): string | undefined {
    const { pools, controllerConfig, featureGates, controllerHash, apiServer, nodeConfig, templates } = this.#input;
    const tlsProfile = apiServer?.spec.tlsSecurityProfile;
    const latencyProfile = nodeConfig?.spec.workerLatencyProfile;
    const plan = planKubeletConfig({
      config,
      pools,
      controllerConfig,
      hash: controllerHash,
      tree: templateTree(templates),
      stored: [...this.#configs.values()],
      machineConfigs: [...this.#machineConfigs.values()],
      cluster: {
        featureGates,
        tlsProfile,
        latencyProfile,
      },
    });
    for (const made of [...plan.create, ...plan.update]) this.#machineConfigs.set(made.metadata.name, made);
    for (const gone of plan.remove) this.#machineConfigs.delete(gone);
    const { annotations, finalizers, verdict } = plan;
    const { generation } = config.metadata;
    const conditions = (config.status?.conditions ?? []) as readonly ConfigCondition[];
    const status =
      verdict &&
      withoutUndefined({
        observedGeneration: generation,
        conditions: [...withVerdict(conditions, verdict.problem, NOW)],
      });
    this.#configs.set(config.metadata.name, {
      ...config,
      metadata: {
        ...config.metadata,
        ...withoutUndefined({
          annotations: annotations ? { ...annotations } : undefined,
          finalizers: finalizers ? [...finalizers] : undefined,
        }),
      },
      ...withoutUndefined({ status }),
    });
    return plan.error;
  }
}

const sorted = <T>(objects: ReadonlyMap<string, T>): T[] =>
  [...objects].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);

const recordedConfig = ({ metadata, status }: KubeletConfig) => ({
  name: metadata.name,
  annotations: metadata.annotations,
  finalizers: metadata.finalizers,
  observedGeneration: status?.observedGeneration ?? 0,
  conditions: status?.conditions,
});

interface RecordedFile {
  readonly path: string;
  readonly mode?: number;
  readonly overwrite?: boolean;
  readonly contents?: { readonly source?: string; readonly compression?: string };
}

function recordedFile({ path, mode, overwrite, contents }: RecordedFile) {
  const url = contents?.source ?? '';
  const text = parseDataUrl(url).data.toString('utf8');
  return {
    path,
    mode,
    overwrite,
    compression: contents?.compression,
    source: url.slice(0, url.indexOf(',') + 1),
    ...(path.endsWith('kubelet.conf') ? { yaml: text, parsed: serialiseKubelet(parseKubeletConf(text)) } : { text }),
  };
}

function recordedMachineConfig({ metadata, spec }: MachineConfig) {
  const storage = (spec?.config as { storage?: { files?: readonly RecordedFile[] } } | undefined)?.storage;
  const { name, labels, annotations, ownerReferences = [] } = metadata;
  return {
    name,
    labels,
    annotations,
    kernelArguments: spec?.kernelArguments,
    files: (storage?.files ?? []).map(recordedFile),
    owners: ownerReferences.map(({ kind, name: owner, controller }) => ({ kind, name: owner, controller })),
  };
}

export const kubeletNameCalls: Readonly<Record<string, Call>> = {
  'kc-key': ({ pool, kubeletConfigs, machineConfigs, for: config }: KeyInput) =>
    attempt(() => {
      const exists = (name: string) => machineConfigs.some(({ metadata }) => metadata.name === name);
      const { name, former } = nameKubeletConfig({ pool, config, stored: kubeletConfigs, exists });
      return { name, created: former === undefined ? [] : [name], deleted: former === undefined ? [] : [former] };
    }),
  'kc-condition': ({
    existing,
    results,
  }: {
    existing: readonly ConfigCondition[];
    results: readonly (string | null)[];
  }) => {
    let conditions = existing;
    const steps = results.map((result) => {
      conditions = withVerdict(conditions, result === null ? undefined : `Error: ${result}`, NOW);
      return conditions.map((condition) => ({ reason: '', ...condition }));
    });
    return { steps };
  },
  'kc-sync': (input: SyncInput) => {
    const world = new World(input);
    return { steps: input.steps.flatMap((step) => world.play(step) ?? []) };
  },
};
