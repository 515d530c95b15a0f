import {
  byName,
  type ControllerConfig,
  checkSize,
  hashedText,
  irreconcilable,
  type MachineConfig,
  type MachineConfigPool,
  mergeMachineConfigs,
  readIgnition,
  renderedName,
  renderPool,
  type StorageOverride,
  selectMachineConfigs,
} from '@mcm/machine-config';
import { attempt, type Call, errorOf } from './call.ts';

interface MergeInput {
  readonly configs: readonly MachineConfig[];
  readonly baseOSContainerImage: string;
  readonly baseOSExtensionsContainerImage: string;
}

interface RenderInput {
  readonly controllerVersion: string;
  readonly controllerHash: string;
  readonly pool: MachineConfigPool;
  readonly controllerConfig: ControllerConfig;
  readonly configs: readonly MachineConfig[];
  readonly select?: boolean;
  readonly current?: MachineConfig;
  readonly storageOverrides?: readonly StorageOverride[];
}

interface ReconcileInput {
  readonly old: MachineConfig;
  readonly new: MachineConfig;
  readonly storageOverrides?: readonly StorageOverride[];
}

export const renderCalls: Readonly<Record<string, Call>> = {
  merge: ({ configs, baseOSContainerImage, baseOSExtensionsContainerImage }: MergeInput) =>
    attempt(() => {
      const base = { osImageURL: baseOSContainerImage, extensionsImage: baseOSExtensionsContainerImage };
      const merged = mergeMachineConfigs(configs, base);
      if (!merged) return { spec: null };
      return {
        order: merged.sources.map(({ metadata }) => metadata.name),
        renderedName: renderedName('worker', merged.spec),
        mergedIgnitionError: errorOf(() => readIgnition(merged.spec.config)),
        spec: merged.spec,
      };
    }),
  name: ({ pool, spec }: { pool: string; spec: NonNullable<MachineConfig['spec']> }) =>
    attempt(() => ({ name: renderedName(pool, spec), yaml: hashedText(spec) })),
  render: (input: RenderInput) =>
    attempt(() => {
      const { pool, controllerConfig, controllerVersion, controllerHash, current, storageOverrides } = input;
      const configs = input.select ? selectMachineConfigs(pool, byName(input.configs)) : input.configs;
      const { machineConfig, sources } = renderPool({
        pool,
        controllerConfig,
        configs,
        identity: { version: controllerVersion, hash: controllerHash },
        current,
        storageOverrides,
      });
      const { metadata, spec } = machineConfig;
      return { machineConfig: { metadata, spec }, source: sources.map((one) => `MachineConfig/${one.metadata.name}`) };
    }),
  size: ({ name, kernelArgumentLength }: { name: string; kernelArgumentLength: number }) => {
    const spec = {
      osImageURL: '',
      baseOSExtensionsContainerImage: '',
      kernelArguments: ['x'.repeat(kernelArgumentLength)],
      extensions: null,
      fips: false,
      kernelType: '',
    };
    return attempt(() => ({ serialisedBytes: checkSize({ metadata: { name }, spec }) }));
  },
  reconcile: ({ old, new: wanted, storageOverrides }: ReconcileInput) => {
    const refusal = irreconcilable(old, wanted, storageOverrides);
    return { error: refusal?.message ?? null, reconcilable: refusal === undefined };
  },
};
