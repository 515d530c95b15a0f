import { parseQuantity } from '@mcm/api';
import {
  type ContainerRuntimeConfig,
  type ContainerRuntimeConfiguration,
  containerRuntimeConfigurationSchema,
} from '../kinds/container-runtime-config.ts';
import { unknownField } from '../kinds/unknown-fields.ts';
import { NodeConfigError } from '../node-config/error.ts';

const MIN_PIDS = 20;
const MIN_LOG_SIZE = 8192;
const LOG_LEVELS = ['error', 'fatal', 'panic', 'warn', 'info', 'debug', 'trace'];
const RUNTIMES = ['crun', 'runc'];
const STORE_PATH = /^\/[a-zA-Z0-9/._-]+$/;
const NANO = 1_000_000_000n;

export function refuse(field: string, value: unknown, hint: string): never {
  throw new NodeConfigError(`spec.containerRuntimeConfig.${field} is ${JSON.stringify(value)}: ${hint}`);
}

/** @throws NodeConfigError */
export function bytesOf(field: string, value: string | number | undefined): bigint | undefined {
  if (value === undefined || value === '') return undefined;
  const parsed = parseQuantity(value);
  if (!parsed) return refuse(field, value, 'must be a quantity such as 10Gi');
  const { nano } = parsed;
  return nano > 0n ? (nano + NANO - 1n) / NANO : nano / NANO;
}

/**
 * Returns the unknown fields of a ContainerRuntimeConfig. The CRD of mcm refuses unknown fields, but an object from a
 * file or another CRD may contain them.
 */
export function unknownRuntimeFields({ spec }: ContainerRuntimeConfig): readonly string[] {
  const known = Object.keys(containerRuntimeConfigurationSchema.shape);
  return Object.keys(spec?.containerRuntimeConfig ?? {}).flatMap((name) =>
    known.includes(name) ? [] : unknownField(`spec.containerRuntimeConfig.${name}`, known),
  );
}

/** @throws NodeConfigError naming the field */
export function validateRuntimeConfig({ spec }: ContainerRuntimeConfig): void {
  const wanted = spec?.containerRuntimeConfig ?? {};
  const { pidsLimit = 0, logLevel = '', defaultRuntime = '' } = wanted;
  if (pidsLimit !== 0 && pidsLimit < MIN_PIDS) refuse('pidsLimit', pidsLimit, `must be 0 or at least ${MIN_PIDS}`);
  const logSize = bytesOf('logSizeMax', wanted.logSizeMax) ?? 0n;
  if (logSize > 0n && logSize <= MIN_LOG_SIZE) {
    refuse('logSizeMax', wanted.logSizeMax, `must be more than ${MIN_LOG_SIZE}, or at most 0 for no limit`);
  }
  const overlay = bytesOf('overlaySize', wanted.overlaySize) ?? 0n;
  if (overlay < 0n) refuse('overlaySize', wanted.overlaySize, 'must not be negative');
  if (logLevel !== '' && !LOG_LEVELS.includes(logLevel)) {
    refuse('logLevel', logLevel, `must be one of ${LOG_LEVELS.join(', ')}`);
  }
  if (defaultRuntime !== '' && !RUNTIMES.includes(defaultRuntime)) {
    refuse('defaultRuntime', defaultRuntime, `must be one of ${RUNTIMES.join(', ')}`);
  }
  validateStores(wanted);
}

/** Settings for which the original requires a feature gate, and which mcm refuses. */
const STORES = ['additionalLayerStores', 'additionalImageStores', 'additionalArtifactStores'] as const;

function validateStores(wanted: ContainerRuntimeConfiguration): void {
  for (const field of STORES) {
    const stores = wanted[field] ?? [];
    for (const [index, { path }] of stores.entries()) {
      if (STORE_PATH.test(path) && !path.includes('//')) continue;
      refuse(`${field}[${index}].path`, path, 'must be an absolute path of letters, digits and / . _ - without //');
    }
    if (stores.length > 0) refuse(field, stores, 'requires a disabled feature gate; remove the field');
  }
}
