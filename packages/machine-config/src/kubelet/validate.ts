import { ARBITER_POOL, MASTER_POOL } from '../constants/names.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { NodeConfigError } from '../node-config/error.ts';
import { decodeKubelet, type KubeletConfiguration, KubeletConfigurationError } from './configuration.ts';

/** The error if the controller refuses a KubeletConfig. A retry would fail again. */
export class KubeletConfigError extends NodeConfigError {
  override readonly name: string = 'KubeletConfigError';
}

const MAX_LOG_LEVEL = 10;
/** Settings that a KubeletConfig must not contain, because they must be equal on all nodes of a cluster. */
const FORBIDDEN = ['cgroupDriver', 'clusterDNS', 'clusterDomain', 'featureGates', 'failSwapOn'];

function print(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(print).join(' ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const pairs = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${pairs.map(([key, field]) => `${key}:${print(field)}`).join(' ')}]`;
}

/**
 * Validates the settings of a user in a KubeletConfig.
 * @throws KubeletConfigError naming the field
 */
export function validateKubeletConfig({ spec = {} }: KubeletConfig): KubeletConfiguration {
  const { logLevel, autoSizingReserved } = spec;
  if (logLevel !== undefined && logLevel !== null && (logLevel < 0 || logLevel > MAX_LOG_LEVEL)) {
    throw new KubeletConfigError(`KubeletConfig's LogLevel is not valid [0,${MAX_LOG_LEVEL}]: ${logLevel}`);
  }
  const configuration = decode(spec.kubeletConfig);
  for (const field of FORBIDDEN) if (configuration[field] !== undefined) forbid(field, configuration[field]);
  const swap = configuration.memorySwap;
  if (typeof swap === 'object' && swap !== null && 'swapBehavior' in swap) forbid('swapBehavior', swap.swapBehavior);
  if (autoSizingReserved && configuration.systemReserved !== undefined) {
    throw new KubeletConfigError('KubeletConfiguration: autoSizingReserved and systemdReserved cannot be set together');
  }
  const { systemReservedCgroup: reserved, systemCgroups: system } = configuration;
  if (reserved !== undefined && system !== undefined && reserved !== system) {
    throw new KubeletConfigError(
      `KubeletConfiguration: systemReservedCgroup (${reserved}) must match systemCgroups (${system})`,
    );
  }
  return configuration;
}

function decode(raw: unknown): KubeletConfiguration {
  try {
    return decodeKubelet(raw);
  } catch (error) {
    if (!(error instanceof KubeletConfigurationError)) throw error;
    throw new KubeletConfigError(`KubeletConfig could not be unmarshalled, err: ${error.message}`, { cause: error });
  }
}

function forbid(field: string, value: unknown): never {
  throw new KubeletConfigError(
    `KubeletConfiguration: ${field} is not allowed to be set, but contains: ${print(value)}`,
  );
}

const MASTER_LABEL = 'node-role.kubernetes.io/master';

/** Returns true if the nodes of the pool run the control plane, according to the pool's name or its selector. */
export function isControlPlanePool({ metadata, spec }: MachineConfigPool): boolean {
  if (metadata.name === MASTER_POOL || metadata.name === ARBITER_POOL) return true;
  const { matchLabels = {}, matchExpressions = [] } = spec?.nodeSelector ?? {};
  if (Object.hasOwn(matchLabels, MASTER_LABEL)) return true;
  return matchExpressions.some(
    ({ key, operator }) => key === MASTER_LABEL && (operator === 'Exists' || operator === 'In'),
  );
}

/**
 * Validates the static pod path, because the control plane itself runs as static pods.
 * @throws KubeletConfigError
 */
export function validateStaticPodPath({ spec }: KubeletConfig, pool: MachineConfigPool): void {
  const raw = spec?.kubeletConfig ?? {};
  const { name } = pool.metadata;
  if (isControlPlanePool(pool)) {
    if (!JSON.stringify(raw).includes('"staticPodPath"')) return;
    throw new KubeletConfigError(
      `KubeletConfiguration: staticPodPath is not allowed to be set for control plane pool ${JSON.stringify(name)}`,
    );
  }
  const path = decode(raw).staticPodPath;
  if (path === undefined) return;
  throw new KubeletConfigError(
    `KubeletConfiguration: staticPodPath must be empty for pool ${JSON.stringify(name)}, but contains: ${path}`,
  );
}
