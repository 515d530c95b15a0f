import { ConfigAnnotations } from '../constants/annotations.ts';
import {
  compactIgnition,
  emptyIgnition,
  type IgnitionConfig,
  type IgnitionFile,
  mergeIgnition,
} from '../ignition/index.ts';
import type { MachineConfig, MachineConfigSpec } from '../kinds/machine-config.ts';
import { RenderError } from './error.ts';
import { mergeOrder } from './order.ts';
import { ignitionOf } from './parsed.ts';

/** Images that every machine has unless a user's MachineConfig says otherwise. */
export interface BaseImages {
  readonly osImageURL: string;
  readonly extensionsImage: string;
}

/** What several MachineConfigs come to. */
export interface Merged {
  readonly spec: MachineConfigSpec & { readonly config: IgnitionConfig };
  /** In merge order. */
  readonly sources: readonly MachineConfig[];
}

const KERNEL_DEVEL = 'kernel-devel';
const DEFAULT_KERNEL = 'default';
const OTHER_KERNELS = ['realtime', '64k-pages'];

/**
 * Merges MachineConfigs into one. A pure function of their names, role labels and specs: the order in which they are
 * given does not matter.
 * @returns undefined for none
 * @throws RenderError, IgnitionError
 */
export function mergeMachineConfigs(configs: readonly MachineConfig[], base: BaseImages): Merged | undefined {
  if (configs.length === 0) return undefined;
  const sources = mergeOrder(configs);
  const specs = sources.map(({ spec }) => spec ?? {});
  const kernelType = specs.findLast((spec) => OTHER_KERNELS.includes(spec.kernelType ?? ''))?.kernelType;
  const extensions = specs.flatMap((spec) => spec.extensions ?? []);
  if (kernelType !== undefined && extensions.includes(KERNEL_DEVEL)) {
    throw new RenderError(`installing ${KERNEL_DEVEL} extension is not supported with kernelType: ${kernelType}`);
  }
  const spec = {
    osImageURL: lastOfUsers(sources, 'osImageURL') ?? base.osImageURL,
    baseOSExtensionsContainerImage: lastOfUsers(sources, 'baseOSExtensionsContainerImage') ?? base.extensionsImage,
    config: compactIgnition(overwriting(mergeConfigs(sources))),
    kernelArguments: specs.flatMap((one) => one.kernelArguments ?? []),
    extensions,
    fips: specs.some(({ fips }) => fips === true),
    kernelType: kernelType ?? DEFAULT_KERNEL,
  };
  return { spec, sources };
}

/** Whether a user wrote it: only then do its images count. */
const isUsers = ({ metadata }: MachineConfig): boolean =>
  !metadata.annotations?.[ConfigAnnotations.GeneratedByControllerVersion];

const lastOfUsers = (
  sources: readonly MachineConfig[],
  field: 'osImageURL' | 'baseOSExtensionsContainerImage',
): string | undefined => sources.findLast((config) => config.spec?.[field] && isUsers(config))?.spec?.[field];

function mergeConfigs(sources: readonly MachineConfig[]): IgnitionConfig {
  const [first, ...rest] = sources;
  let merged = (first && ignitionOf(first)) ?? emptyIgnition();
  let changed = false;
  for (const source of rest) {
    const child = ignitionOf(source);
    if (!child) continue;
    merged = mergeIgnition(merged, resettingCompression(child));
    changed = true;
  }
  return changed ? mapFiles(merged, withoutEmptyCompression) : merged;
}

/** A file without compression says so: otherwise a compressed parent's mark would stay. */
const resettingCompression = (config: IgnitionConfig): IgnitionConfig =>
  mapFiles(config, (file) =>
    file.contents?.compression === undefined ? { ...file, contents: { ...file.contents, compression: '' } } : file,
  );

function withoutEmptyCompression(file: IgnitionFile): IgnitionFile {
  if (file.contents?.compression !== '') return file;
  const { compression: _compression, ...contents } = file.contents;
  return { ...file, contents };
}

/**
 * Files replace what is there unless they say otherwise. A file without content cannot: it only sets a mode or appends.
 * The original marks it all the same and so makes a config that it cannot read any more.
 */
const overwriting = (config: IgnitionConfig): IgnitionConfig =>
  mapFiles(config, (file) =>
    file.overwrite === undefined && file.contents?.source !== undefined ? { ...file, overwrite: true } : file,
  );

function mapFiles(config: IgnitionConfig, change: (file: IgnitionFile) => IgnitionFile): IgnitionConfig {
  const { files } = config.storage ?? {};
  if (!files) return config;
  return { ...config, storage: { ...config.storage, files: files.map(change) } };
}
