import { formatDurationNs, formatQuantity, parseDurationNs, parseQuantity } from '@mcm/api';
import { isRecord } from '@mcm/kube';
import { Entries, type Fields, type FieldType, KUBELET_FIELDS, Pointer } from './fields.ts';

/** The error for an invalid KubeletConfiguration. */
export class KubeletConfigurationError extends Error {
  override readonly name = 'KubeletConfigurationError';
}

/** A kubelet configuration in which only optional fields keep their zero values. */
export type KubeletConfiguration = Readonly<Record<string, unknown>>;

type Raw = Readonly<Record<string, unknown>>;
/**
 * Decodes a kubelet configuration like Go: field names are case-insensitive, and unknown fields are dropped.
 * @throws KubeletConfigurationError naming the field
 */
export function decodeKubelet(raw: unknown): KubeletConfiguration {
  if (raw === undefined || raw === null) return {};
  if (!isRecord(raw)) throw new KubeletConfigurationError('json: spec.kubeletConfig must be an object');
  return decodeFields(KUBELET_FIELDS, raw, 'kubeletConfig');
}

function decodeFields(fields: Fields, raw: Raw, path: string): Record<string, unknown> {
  const names = new Map(Object.keys(fields).map((name) => [name.toLowerCase(), name]));
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(raw)) {
    const name = names.get(key.toLowerCase());
    const type = name === undefined ? undefined : fields[name];
    if (name === undefined || type === undefined || value === null) continue;
    const decoded = decodeField(type, value, `${path}.${name}`);
    if (decoded !== undefined) result[name] = decoded;
  }
  return result;
}

function decodeField(type: FieldType, value: unknown, path: string): unknown {
  if (type instanceof Entries) return decodeEntries(type, value, path);
  if (typeof type === 'object') {
    if (!isRecord(value)) return wrong(path, 'an object', value);
    if (type instanceof Pointer) return decodeFields(type.fields, value, path);
    const fields = decodeFields(type, value, path);
    return Object.keys(fields).length === 0 ? undefined : fields;
  }
  switch (type) {
    case 'text':
    case 'optionalText':
      if (typeof value !== 'string') return wrong(path, 'a text', value);
      return value === '' && type === 'text' ? undefined : value;
    case 'flag':
    case 'optionalFlag':
      if (typeof value !== 'boolean') return wrong(path, 'true or false', value);
      return !value && type === 'flag' ? undefined : value;
    case 'integer':
    case 'optionalNumber':
      if (typeof value !== 'number') return wrong(path, 'a number', value);
      return value === 0 && type === 'integer' ? undefined : value;
    case 'duration':
    case 'optionalDuration':
      return decodeDuration(type, value, path);
    case 'texts':
    case 'list':
      if (!Array.isArray(value)) return wrong(path, 'a list', value);
      return value.length === 0 ? undefined : value;
    case 'map':
      if (!isRecord(value)) return wrong(path, 'an object', value);
      return Object.keys(value).length === 0 ? undefined : value;
    case 'loggingFrequency':
      return typeof value === 'number' ? value : decodeDuration('optionalDuration', value, path);
    case 'quantity':
      return decodeQuantity(value, path);
    case 'quantities':
      if (!isRecord(value)) return wrong(path, 'an object', value);
      return Object.fromEntries(
        Object.entries(value).map(([key, one]) => [key, decodeQuantity(one, `${path}.${key}`)]),
      );
  }
}

function decodeEntries({ fields, zeros }: Entries, value: unknown, path: string): unknown {
  if (!Array.isArray(value)) return wrong(path, 'a list', value);
  if (value.length === 0) return undefined;
  return value.map((entry: unknown, index) => {
    const at = `${path}[${index}]`;
    if (entry !== null && !isRecord(entry)) return wrong(at, 'an object', entry);
    return { ...zeros, ...decodeFields(fields, entry ?? {}, at) };
  });
}

/** Formats a quantity like Kubernetes: `500m` for `0.5`. */
function decodeQuantity(value: unknown, path: string): string {
  const parsed = typeof value === 'string' || typeof value === 'number' ? parseQuantity(value) : undefined;
  return parsed === undefined ? wrong(path, 'a quantity', value) : formatQuantity(parsed);
}

function decodeDuration(type: 'duration' | 'optionalDuration', value: unknown, path: string): string | undefined {
  if (typeof value !== 'string') return wrong(path, 'a duration', value);
  const nanoseconds = value === '' ? 0n : parseDurationNs(value);
  if (nanoseconds === undefined)
    throw new KubeletConfigurationError(`time: ${path}: invalid duration ${JSON.stringify(value)}`);
  const zero = BigInt(nanoseconds) === 0n;
  return zero && type === 'duration' ? undefined : formatDurationNs(nanoseconds);
}

function wrong(path: string, wanted: string, value: unknown): never {
  throw new KubeletConfigurationError(
    `json: ${path} must be ${wanted}, not ${Array.isArray(value) ? 'a list' : typeof value}`,
  );
}

const isZero = (value: unknown): boolean => value === 0 || value === false || value === '' || value === '0s';

/**
 * Merges a user's settings into the base. A zero value of the user applies only if the base has no value, because the
 * original treats a zero value as absent. Source: imdario/mergo v0.3.16, WithOverride.
 */
export const overlayKubelet = (base: KubeletConfiguration, user: KubeletConfiguration): KubeletConfiguration =>
  overlayFields(KUBELET_FIELDS, base, user);

function overlayFields(fields: Fields, base: Raw, user: Raw): Raw {
  const result: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(user)) {
    const type = fields[name];
    const old = base[name];
    const inner = type instanceof Pointer ? type.fields : type instanceof Entries ? undefined : type;
    if (isRecord(inner) && isRecord(value)) result[name] = overlayFields(inner, isRecord(old) ? old : {}, value);
    else if (type === 'map' && isRecord(value)) result[name] = { ...(isRecord(old) ? old : {}), ...value };
    else if (old === undefined || !isZero(value)) result[name] = value;
  }
  return result;
}

/** Adds the fields that are always written, even with their zero values. */
function withZeros(fields: Fields, values: Raw): Record<string, unknown> {
  const result: Record<string, unknown> = { ...values };
  for (const [name, type] of Object.entries(fields)) {
    const value = values[name];
    if (type === 'duration') result[name] = value ?? '0s';
    else if (type === 'quantity') result[name] = value ?? '0';
    else if (type === 'loggingFrequency') result[name] = value ?? 0;
    else if (typeof type !== 'object' || type instanceof Pointer || type instanceof Entries) continue;
    else result[name] = withZeros(type, isRecord(value) ? value : {});
  }
  return result;
}

/** Returns the complete kubelet configuration, as the original serializes it. */
export function serialiseKubelet(configuration: KubeletConfiguration): Record<string, unknown> {
  const complete = withZeros(KUBELET_FIELDS, configuration);
  return {
    ...complete,
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: configuration.containerRuntimeEndpoint ?? '',
    logging: { verbosity: 0, ...(isRecord(complete.logging) ? complete.logging : {}) },
  };
}
