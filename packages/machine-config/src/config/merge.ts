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

/** The images of the operating system for every machine, unless a MachineConfig of a user sets another image. */
export interface BaseImages {
  readonly osImageURL: string;
  readonly extensionsImage: string;
}

/** The result of a merge. */
export interface Merged {
  readonly spec: MachineConfigSpec & { readonly config: IgnitionConfig };
  readonly sources: readonly MachineConfig[];
}

const KERNEL_DEVEL = 'kernel-devel';
const DEFAULT_KERNEL = 'default';
const OTHER_KERNELS = ['realtime', '64k-pages'];

/**
 * Merges several MachineConfigs into one MachineConfig.
 * @returns undefined for an empty list
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
    config: compactIgnition(mergeConfigs(sources)),
    kernelArguments: specs.flatMap((one) => one.kernelArguments ?? []),
    extensions,
    fips: specs.some(({ fips }) => fips === true),
    kernelType: kernelType ?? DEFAULT_KERNEL,
  };
  return { spec, sources };
}

/** The merge ignores images of generated MachineConfigs. */
const isUsers = ({ metadata }: MachineConfig): boolean =>
  !metadata.annotations?.[ConfigAnnotations.GeneratedByControllerVersion];

const lastOfUsers = (
  sources: readonly MachineConfig[],
  field: 'osImageURL' | 'baseOSExtensionsContainerImage',
): string | undefined => sources.findLast((config) => config.spec?.[field] && isUsers(config))?.spec?.[field];

function mergeConfigs(sources: readonly MachineConfig[]): IgnitionConfig {
  const configs = sources.flatMap((source, index) => ignitionOf(source) ?? (index === 0 ? emptyIgnition() : []));
  const [first = emptyIgnition(), ...children] = configs;
  const compressed = new Set(configs.flatMap(compressedPaths));
  const merged = children.reduce(
    (parent, child) => mergeIgnition(parent, compressed.size > 0 ? resettingCompression(child, compressed) : child),
    first,
  );
  return mapFiles(merged, children.length > 0 ? finishedFile : overwritingFile);
}

const compressedPaths = ({ storage }: IgnitionConfig): readonly string[] =>
  (storage?.files ?? []).filter(({ contents }) => contents?.compression).map(({ path }) => path);

/** Without an explicit compression, a file would inherit the compression of the earlier file. */
const resettingCompression = (config: IgnitionConfig, compressed: ReadonlySet<string>): IgnitionConfig =>
  mapFiles(config, (file) =>
    file.contents?.compression === undefined && compressed.has(file.path)
      ? { ...file, contents: { ...file.contents, compression: '' } }
      : file,
  );

const finishedFile = (file: IgnitionFile): IgnitionFile => overwritingFile(withoutEmptyCompression(file));

function withoutEmptyCompression(file: IgnitionFile): IgnitionFile {
  if (file.contents?.compression !== '') return file;
  const { compression: _compression, ...contents } = file.contents;
  return { ...file, contents };
}

/**
 * Sets `overwrite` only on a file with content, because Ignition refuses `overwrite` on a file without content. The
 * original also sets `overwrite` on a file without content, and then cannot read its own result.
 */
const overwritingFile = (file: IgnitionFile): IgnitionFile =>
  file.overwrite === undefined && file.contents?.source !== undefined ? { ...file, overwrite: true } : file;

function mapFiles(config: IgnitionConfig, change: (file: IgnitionFile) => IgnitionFile): IgnitionConfig {
  const { files } = config.storage ?? {};
  if (!files) return config;
  const changed = files.map(change);
  if (changed.every((file, index) => file === files[index])) return config;
  return { ...config, storage: { ...config.storage, files: changed } };
}
