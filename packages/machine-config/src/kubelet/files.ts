import { parse } from 'yaml';
import { printYaml } from '../config/yaml/yaml.ts';
import { KUBELET_CONF_PATH } from '../constants/names.ts';
import { type IgnitionFile, textFile } from '../ignition/index.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import {
  decodeKubelet,
  type KubeletConfiguration,
  KubeletConfigurationError,
  overlayKubelet,
  serialiseKubelet,
} from './configuration.ts';
import { KubeletConfigError } from './validate.ts';

const SIZING_PATH = '/etc/node-sizing-enabled.env';
const LOGGING_PATH = '/etc/systemd/system/kubelet.service.d/20-logging.conf';

/** The fields of the user's systemReserved that are in a separate file. */
const SIZED = {
  memory: 'SYSTEM_RESERVED_MEMORY',
  cpu: 'SYSTEM_RESERVED_CPU',
  'ephemeral-storage': 'SYSTEM_RESERVED_ES',
};
const SIZE_DEFAULTS = { memory: '1Gi', cpu: '500m', 'ephemeral-storage': '1Gi' };

/**
 * Parses a kubelet.conf.
 * @throws KubeletConfigurationError
 */
export function parseKubeletConf(text: string): KubeletConfiguration {
  let raw: unknown;
  try {
    raw = parse(text);
  } catch (error) {
    throw new KubeletConfigurationError(`yaml: ${(error as Error).message}`, { cause: error });
  }
  return decodeKubelet(raw);
}

/**
 * Returns the files of the MachineConfig of a KubeletConfig, in order.
 * @param base kubelet.conf of the templates with the settings of the cluster
 * @throws KubeletConfigError if the settings of the user contradict the base
 */
export function kubeletFiles(base: KubeletConfiguration, { spec = {} }: KubeletConfig): readonly IgnitionFile[] {
  const user = decodeUser(spec.kubeletConfig);
  const merged = withExceptions(overlayKubelet(base, withoutSizes(user)), user, spec.kubeletConfig);
  checkCgroups(merged);
  const sizing = sizingFile(spec.autoSizingReserved, user);
  const level = spec.logLevel;
  return [
    ...(sizing ? [sizing] : []),
    ...(level === undefined || level === null
      ? []
      : [textFile(LOGGING_PATH, `[Service]\nEnvironment="KUBELET_LOG_LEVEL=${level}"\n`)]),
    textFile(KUBELET_CONF_PATH, printYaml(serialiseKubelet(merged))),
  ];
}

function decodeUser(raw: unknown): KubeletConfiguration {
  try {
    return decodeKubelet(raw);
  } catch (error) {
    if (!(error instanceof KubeletConfigurationError)) throw error;
    throw new KubeletConfigError(`could not deserialize the new Kubelet config: ${error.message}`, { cause: error });
  }
}

type Texts = Readonly<Record<string, string>>;
const reservedOf = (user: KubeletConfiguration): Texts => (user.systemReserved ?? {}) as Texts;

function withoutSizes(user: KubeletConfiguration): KubeletConfiguration {
  if (user.systemReserved === undefined) return user;
  const { systemReserved: _all, ...rest } = user;
  const others = Object.entries(reservedOf(user)).filter(([name]) => !Object.hasOwn(SIZED, name));
  return others.length === 0 ? rest : { ...rest, systemReserved: Object.fromEntries(others) };
}

function sizingFile(autoSizing: boolean | null | undefined, user: KubeletConfiguration): IgnitionFile | undefined {
  const reserved = reservedOf(user);
  const names = Object.keys(SIZED) as (keyof typeof SIZED)[];
  const sized = names.some((name) => Object.hasOwn(reserved, name));
  if (!sized && (autoSizing === undefined || autoSizing === null)) return undefined;
  const enabled = sized ? false : autoSizing === true;
  const lines = names.map((name) => `${SIZED[name]}=${reserved[name] || SIZE_DEFAULTS[name]}\n`);
  return textFile(SIZING_PATH, `NODE_SIZING_ENABLED=${enabled}\n${lines.join('')}`);
}

const RESERVED = ['system-reserved', 'system-reserved-compressible'];
const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : []);

function withExceptions(merged: KubeletConfiguration, user: KubeletConfiguration, raw: unknown): KubeletConfiguration {
  const result: Record<string, unknown> = { ...merged };
  const enforced = listOf(user.enforceNodeAllocatable);
  if (JSON.stringify(raw ?? {}).includes('"protectKernelDefaults":false')) delete result.protectKernelDefaults;
  const enforces = enforced.some((name) => RESERVED.includes(name));
  if (enforced.length > 0 && !enforces && user.systemReservedCgroup === undefined) delete result.systemReservedCgroup;
  if (result.reservedSystemCPUs === undefined) return result;
  // If `reservedSystemCPUs` is set, the kubelet must not enforce reservations with control groups.
  delete result.systemReservedCgroup;
  const rest = listOf(result.enforceNodeAllocatable).filter((name) => !RESERVED.includes(name));
  return { ...result, enforceNodeAllocatable: rest.includes('pods') ? rest : ['pods', ...rest] };
}

function checkCgroups({ systemReservedCgroup: reserved, systemCgroups: system }: KubeletConfiguration): void {
  if (reserved === undefined || system === undefined || reserved === system) return;
  throw new KubeletConfigError(
    `invalid merged configuration: systemReservedCgroup (${reserved}) must match systemCgroups (${system})`,
  );
}
