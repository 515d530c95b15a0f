import { type IgnitionFile, textFile } from '../ignition/index.ts';
import type { ContainerRuntimeConfiguration } from '../kinds/container-runtime-config.ts';
import { setTomlKey, tomlString } from './toml.ts';
import { bytesOf } from './validate.ts';

export const STORAGE_CONF_PATH = '/etc/containers/storage.conf';
const DROP_INS = '/etc/crio/crio.conf.d/01-ctrcfg-';

const dropIn = (field: string, key: string, value: string): IgnitionFile =>
  textFile(DROP_INS + field, `[crio]\n\n  [crio.runtime]\n    ${key} = ${value}\n`);

/** @param storageConf the content of {@link STORAGE_CONF_PATH} in the templates */
export function crioFiles(wanted: ContainerRuntimeConfiguration, storageConf: string): readonly IgnitionFile[] {
  const { logLevel = '', pidsLimit = 0, defaultRuntime = '' } = wanted;
  const overlay = bytesOf('overlaySize', wanted.overlaySize) ?? 0n;
  const logSize = bytesOf('logSizeMax', wanted.logSizeMax) ?? 0n;
  const size = () => setTomlKey(storageConf, 'storage.options', 'size', tomlString(String(wanted.overlaySize)));
  return [
    ...(overlay === 0n ? [] : [textFile(STORAGE_CONF_PATH, size())]),
    ...(logLevel === '' ? [] : [dropIn('logLevel', 'log_level', tomlString(logLevel))]),
    ...(pidsLimit === 0 ? [] : [dropIn('pidsLimit', 'pids_limit', String(pidsLimit))]),
    ...(logSize === 0n ? [] : [dropIn('logSizeMax', 'log_size_max', String(logSize))]),
    ...(defaultRuntime === '' ? [] : [dropIn('defaultRuntime', 'default_runtime', tomlString(defaultRuntime))]),
  ];
}
