import { withoutUndefined } from '@mcm/kube';
import type { TlsProfile } from '../config/tls.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import type { NodeConfigKind, NodeConfigNaming } from '../node-config/kind.ts';
import { type NamingInput, type NodeConfigName, nameNodeConfig } from '../node-config/names.ts';
import { type NodeConfigPlan, type NodeConfigSnapshot, planNodeConfig } from '../node-config/plan.ts';
import { baseKubeletConfiguration, withLatency } from './base.ts';
import { withVerdict } from './conditions.ts';
import { kubeletFiles } from './files.ts';
import { unknownKubeletFields } from './unknown.ts';
import { validateKubeletConfig, validateStaticPodPath } from './validate.ts';

/** Returns the names that older controllers used for the generated MachineConfig. */
export const formerNames = ({ metadata }: MachineConfigPool): readonly string[] => [
  `99-${metadata.name}-${metadata.uid}-kubelet`,
  `99-${metadata.name}-kubelet-managed`,
];

const NAMING: NodeConfigNaming = { part: 'kubelet', noun: 'kubelet config', formerNames };

export const KUBELET_KIND: NodeConfigKind<KubeletConfig> = {
  kind: 'KubeletConfig',
  naming: NAMING,
  noPool: () => 'KubeletConfig',
  unknown: ({ spec }) => unknownKubeletFields(spec?.kubeletConfig),
  validate: validateKubeletConfig,
  validateFor: validateStaticPodPath,
  files: (config, pool, { tree, cluster, controllerConfig }) => {
    const role = pool.metadata.name;
    const tlsProfile = (config.spec?.tlsSecurityProfile as TlsProfile | null | undefined) ?? cluster.tlsProfile;
    const settings = { ...cluster, ...withoutUndefined({ tlsProfile: tlsProfile ?? undefined }) };
    const base = baseKubeletConfiguration({ tree, controllerConfig }, role, settings);
    return kubeletFiles(withLatency(base, role, cluster.latencyProfile), config);
  },
  withVerdict,
};

/**
 * Returns the name of the generated MachineConfig.
 * @throws NodeConfigError if the pool has too many KubeletConfigs
 */
export const nameKubeletConfig = (input: Omit<NamingInput, 'naming'>): NodeConfigName =>
  nameNodeConfig({ ...input, naming: NAMING });

/** Decides the next actions for a KubeletConfig. */
export const planKubeletConfig = (snapshot: NodeConfigSnapshot<KubeletConfig>): NodeConfigPlan =>
  planNodeConfig(KUBELET_KIND, snapshot);
