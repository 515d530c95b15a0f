import { ignitionOf } from '../config/parsed.ts';
import { tlsSettings } from '../config/tls.ts';
import { KUBELET_CONF_PATH, WORKER_POOL } from '../constants/names.ts';
import type { ClusterSettings } from '../controllers/cluster-settings.ts';
import { decodeContents } from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { type GenerateInput, generateForRole } from '../templates/generate.ts';
import type { KubeletConfiguration } from './configuration.ts';
import { parseKubeletConf } from './files.ts';
import { KubeletConfigError } from './validate.ts';

/** Returns the kubelet.conf in a MachineConfig, or undefined if the MachineConfig has no such file. */
export function kubeletConfOf(config: MachineConfig): string | undefined {
  const file = ignitionOf(config)?.storage?.files?.find(({ path }) => path === KUBELET_CONF_PATH);
  return file && decodeContents(file.contents?.source, file.contents?.compression).toString('utf8');
}

const FREQUENCIES: Readonly<Record<string, string>> = {
  '': '10s',
  Default: '10s',
  MediumUpdateAverageReaction: '20s',
  LowUpdateSlowReaction: '1m0s',
};

/**
 * Returns the status interval of a latency profile.
 * @throws KubeletConfigError for an unknown latency profile
 */
export function reportFrequency(profile: string): string {
  const frequency = FREQUENCIES[profile];
  if (frequency !== undefined) return frequency;
  const failed = 'failed to update the original kubelet configuration';
  throw new KubeletConfigError(`unknown worker latency profile type found ${profile}, ${failed}`);
}

/**
 * Returns the kubelet configuration to which the settings of users are added. A rendered config cannot be the base of a
 * kubelet configuration, because it contains settings of users.
 * @throws KubeletConfigError, TemplateError
 */
export function baseKubeletConfiguration(
  input: Omit<GenerateInput, 'tlsMinVersion' | 'tlsCipherSuites'>,
  role: string,
  { featureGates, tlsProfile }: ClusterSettings,
): KubeletConfiguration {
  const configs = generateForRole({ ...input, ...tlsSettings(tlsProfile) }, role);
  const text = configs.map(kubeletConfOf).find((found) => found !== undefined);
  if (text === undefined) {
    throw new KubeletConfigError(
      'could not generate the original Kubelet config ignition: could not generate old kubelet config',
    );
  }
  const base = parseKubeletConf(text);
  if (Object.keys(featureGates).length === 0) return base;
  return { ...base, featureGates: { ...((base.featureGates as object | undefined) ?? {}), ...featureGates } };
}

/** Returns the configuration with the settings of a latency profile. */
export function withLatency(
  base: KubeletConfiguration,
  role: string,
  profile: string | undefined,
): KubeletConfiguration {
  const frequency = profile === undefined ? undefined : FREQUENCIES[profile];
  if (role !== WORKER_POOL || frequency === undefined) return base;
  return { ...base, nodeStatusUpdateFrequency: frequency };
}

const CGROUP_V2 = ['systemd.unified_cgroup_hierarchy=1', 'cgroup_no_v1="all"'];
const CGROUP_V1 = ['systemd.unified_cgroup_hierarchy=0', 'systemd.legacy_systemd_cgroup_controller=1'];

/**
 * Returns the kernel arguments for a version of cgroups.
 * @throws KubeletConfigError for version 1 of cgroups, which is no longer supported
 */
export function cgroupArguments(mode: string, current: readonly string[]): readonly string[] {
  if (mode !== '' && mode !== 'v2') {
    throw new KubeletConfigError(`cgroup mode ${mode} is not supported; use cgroups v2`);
  }
  const kept = current.filter((argument) => !CGROUP_V1.includes(argument));
  return [...kept, ...CGROUP_V2.filter((argument) => !kept.includes(argument))];
}
