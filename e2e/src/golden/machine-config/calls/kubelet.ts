import {
  baseKubeletConfiguration,
  type ControllerConfig,
  cgroupArguments,
  isControlPlanePool,
  type KubeletConfig,
  kubeletFiles,
  type MachineConfigPool,
  parseDataUrl,
  parseKubeletConf,
  reportFrequency,
  serialiseKubelet,
  type TlsProfile,
  tlsSettings,
  validateKubeletConfig,
  validateStaticPodPath,
  withLatency,
} from '@mcm/machine-config';
import { attempt, type Call, errorOf } from './call.ts';
import { templateTree } from './templates.ts';

interface OriginalInput {
  readonly templates: Readonly<Record<string, string>>;
  readonly role: string;
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly controllerConfig: ControllerConfig;
  readonly apiServerTLSProfile?: TlsProfile;
  readonly workerLatencyProfile?: string;
}

function original(input: OriginalInput): Record<string, unknown> {
  const { role, featureGates, controllerConfig, apiServerTLSProfile: tlsProfile, workerLatencyProfile } = input;
  return attempt(() => {
    const tree = templateTree(input.templates);
    const base = baseKubeletConfiguration({ tree, controllerConfig }, role, {
      featureGates,
      tlsProfile,
    });
    const latency = workerLatencyProfile ?? 'Default';
    const latencyError = errorOf(() => void reportFrequency(latency));
    const parsed = serialiseKubelet(workerLatencyProfile === undefined ? base : withLatency(base, role, latency));
    return { parsed, latencyError: workerLatencyProfile !== undefined ? latencyError : undefined };
  });
}

interface FilesInput {
  readonly baseYAML: string;
  readonly kubeletConfig: KubeletConfig;
}

function files({ baseYAML, kubeletConfig }: FilesInput): Record<string, unknown> {
  return attempt(() => ({
    files: kubeletFiles(parseKubeletConf(baseYAML), kubeletConfig).map(({ path, mode, overwrite, contents }) => {
      const url = contents?.source ?? '';
      const text = parseDataUrl(url).data.toString('utf8');
      const conf = path.endsWith('kubelet.conf');
      return {
        path,
        mode,
        overwrite,
        compression: contents?.compression,
        source: url.slice(0, url.indexOf(',') + 1),
        ...(conf ? { yaml: text, parsed: serialiseKubelet(parseKubeletConf(text)) } : { text }),
      };
    }),
  }));
}

export const kubeletCalls: Readonly<Record<string, Call>> = {
  'kc-files': files,
  'kc-validate': ({ kubeletConfig, pool }: { kubeletConfig: KubeletConfig; pool?: MachineConfigPool }) => ({
    error: errorOf(() => void validateKubeletConfig(kubeletConfig)),
    controlPlanePool: pool ? isControlPlanePool(pool) : undefined,
    staticPodPathError: pool ? errorOf(() => validateStaticPodPath(kubeletConfig, pool)) : undefined,
  }),
  'kc-tls': ({ profile }: { profile: TlsProfile }) => ({ ...tlsSettings(profile) }),
  'kc-original': original,
  'kc-cgroup': ({ cgroupMode, kernelArguments }: { cgroupMode: string; kernelArguments: readonly string[] }) =>
    attempt(() => ({ kernelArguments: cgroupArguments(cgroupMode, kernelArguments) })),
};
