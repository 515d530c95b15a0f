import { ignitionOf } from '../config/parsed.ts';
import { tlsSettings } from '../config/tls.ts';
import { decodeContents, type IgnitionFile } from '../ignition/index.ts';
import type { ContainerRuntimeConfig, ContainerRuntimeConfiguration } from '../kinds/container-runtime-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import type { NodeConfigInput } from '../node-config/kind.ts';
import type { RuntimeSettings } from '../templates/data.ts';
import { generateForRole } from '../templates/generate.ts';
import { crioFiles, STORAGE_CONF_PATH } from './crio.ts';
import { refuse } from './validate.ts';

/** For each setting, a test value that shows whether the templates use the setting, and a hint for the user. */
const SETTINGS: Readonly<Record<keyof RuntimeSettings, { readonly probe: string | number; readonly hint: string }>> = {
  logLevel: { probe: 'trace', hint: 'write the file in a MachineConfig' },
  defaultRuntime: { probe: 'crun', hint: 'write the file in a MachineConfig' },
  pidsLimit: { probe: 4242, hint: 'set podPidsLimit in a KubeletConfig' },
  logSizeMax: { probe: '42Mi', hint: 'set containerLogMaxSize in a KubeletConfig' },
  overlaySize: { probe: '42Gi', hint: 'limit ephemeral-storage of the pods' },
};

const isSet = (value: unknown): boolean => value !== undefined && value !== '' && value !== 0;

/**
 * Returns the files of a ContainerRuntimeConfig for a pool.
 * - For nodes with CRI-O, the result contains the files of the original.
 * - For nodes without CRI-O, the result contains the templates whose output depends on the settings
 * (`containerRuntime.logLevel`).
 * @throws NodeConfigError for a setting that the templates do not use; TemplateError
 */
export function runtimeFiles(
  { spec }: ContainerRuntimeConfig,
  { metadata }: MachineConfigPool,
  input: NodeConfigInput,
): readonly IgnitionFile[] {
  const wanted = spec?.containerRuntimeConfig ?? {};
  const fill = (settings: RuntimeSettings) => filesOf(input, metadata.name, settings);
  const base = fill({});
  const storage = base.get(STORAGE_CONF_PATH);
  if (storage) return crioFiles(wanted, textOf(storage));
  const settings = settingsOf(wanted);
  for (const field of Object.keys(settings) as (keyof RuntimeSettings)[]) {
    const { probe, hint } = SETTINGS[field];
    const used = [settings[field], probe].some((value) => changed(base, fill({ [field]: value })).length > 0);
    if (!used) refuse(field, settings[field], `the templates of pool ${metadata.name} do not use the field; ${hint}`);
  }
  return changed(base, fill(settings));
}

function settingsOf(wanted: ContainerRuntimeConfiguration): RuntimeSettings {
  const fields = Object.keys(SETTINGS) as (keyof RuntimeSettings)[];
  return Object.fromEntries(fields.flatMap((field) => (isSet(wanted[field]) ? [[field, wanted[field]]] : [])));
}

type Files = ReadonlyMap<string, IgnitionFile>;

function filesOf(input: NodeConfigInput, role: string, containerRuntime: RuntimeSettings): Files {
  const { tree, controllerConfig, cluster } = input;
  const configs = generateForRole(
    { tree, controllerConfig, containerRuntime, ...tlsSettings(cluster.tlsProfile) },
    role,
  );
  const files = configs.flatMap((config) => ignitionOf(config)?.storage?.files ?? []);
  return new Map(files.map((file) => [file.path, file]));
}

const changed = (base: Files, now: Files): readonly IgnitionFile[] =>
  [...now].flatMap(([path, file]) => (JSON.stringify(file) === JSON.stringify(base.get(path)) ? [] : [file]));

const textOf = ({ contents }: IgnitionFile): string =>
  decodeContents(contents?.source, contents?.compression).toString('utf8');
