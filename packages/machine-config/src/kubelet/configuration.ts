import { formatDurationNs, parseDurationNs } from '@mcm/api';
import { type Fields, type FieldType, KUBELET_FIELDS } from './fields.ts';

/** A KubeletConfiguration that cannot be read. */
export class KubeletConfigurationError extends Error {
  override readonly name = 'KubeletConfigurationError';
}

/** A KubeletConfiguration as far as it says something: known fields, no zero values but of optional ones. */
export type KubeletConfiguration = Readonly<Record<string, unknown>>;

type Raw = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads a KubeletConfiguration as Go's decoder does: field names match without regard to case, unknown ones are dropped.
 * @throws KubeletConfigurationError naming the field
 */
export function decodeKubelet(raw: unknown): KubeletConfiguration {
  if (raw === undefined || raw === null) return {};
  if (!isObject(raw)) throw new KubeletConfigurationError('json: spec.kubeletConfig must be an object');
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

/** The value; undefined for one that says nothing. */
function decodeField(type: FieldType, value: unknown, path: string): unknown {
  if (typeof type === 'object') {
    if (!isObject(value)) return wrong(path, 'an object', value);
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
      if (!isObject(value)) return wrong(path, 'an object', value);
      return Object.keys(value).length === 0 ? undefined : value;
    case 'any':
      return value;
  }
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
 * Lays a user's settings over the base: what says something replaces, maps are merged key by key, objects field by field.
 * A zero value replaces only where the base says nothing, since the original cannot tell it from an absent one.
 * Source: imdario/mergo v0.3.16, WithOverride.
 */
export const overlayKubelet = (base: KubeletConfiguration, user: KubeletConfiguration): KubeletConfiguration =>
  overlayFields(KUBELET_FIELDS, base, user);

function overlayFields(fields: Fields, base: Raw, user: Raw): Raw {
  const result: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(user)) {
    const type = fields[name];
    const old = base[name];
    if (isObject(type) && isObject(value)) result[name] = overlayFields(type, isObject(old) ? old : {}, value);
    else if (type === 'map' && isObject(value)) result[name] = { ...(isObject(old) ? old : {}), ...value };
    else if (old === undefined || !isZero(value)) result[name] = value;
  }
  return result;
}

const LOGGING = {
  flushFrequency: 0,
  options: { json: { infoBufferSize: '0' }, text: { infoBufferSize: '0' } },
  verbosity: 0,
};

/** Fields that are always written, with what they are if nobody says anything. */
function withZeros(fields: Fields, values: Raw): Record<string, unknown> {
  const result: Record<string, unknown> = { ...values };
  for (const [name, type] of Object.entries(fields)) {
    const value = values[name];
    if (type === 'duration') result[name] = value ?? '0s';
    else if (isObject(type)) result[name] = withZeros(type as Fields, isObject(value) ? value : {});
  }
  return result;
}

/** A KubeletConfiguration as it is written into kubelet.conf: complete, as the original serialises it. */
export function serialiseKubelet(configuration: KubeletConfiguration): Record<string, unknown> {
  const logging = { ...LOGGING, ...(isObject(configuration.logging) ? configuration.logging : {}) };
  return {
    ...withZeros(KUBELET_FIELDS, configuration),
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: configuration.containerRuntimeEndpoint ?? '',
    logging,
  };
}
