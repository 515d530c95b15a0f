import { isRecord } from '@mcm/kube';
import { unknownField } from '../kinds/unknown-fields.ts';
import { Entries, type Fields, type FieldType, KUBELET_FIELDS, Pointer } from './fields.ts';

/** The fields that identify the type. The reader of the kubelet configuration ignores these fields. */
const HEAD = ['apiVersion', 'kind'];

/**
 * mcm ignores unknown fields of a KubeletConfiguration, as the original does, so only a warning shows a typing error.
 */
export function unknownKubeletFields(raw: unknown): readonly string[] {
  const fields = Object.fromEntries(HEAD.map((name): [string, FieldType] => [name, 'text']));
  return isRecord(raw) ? unknownIn({ ...fields, ...KUBELET_FIELDS }, raw, 'spec.kubeletConfig') : [];
}

function unknownIn(fields: Fields, raw: Readonly<Record<string, unknown>>, path: string): readonly string[] {
  const types = new Map(Object.entries(fields).map(([name, type]) => [name.toLowerCase(), type]));
  return Object.entries(raw).flatMap(([key, value]) => {
    const at = `${path}.${key}`;
    const type = types.get(key.toLowerCase());
    return type === undefined ? unknownField(at, Object.keys(fields)) : unknownWithin(type, value, at);
  });
}

function unknownWithin(type: FieldType, value: unknown, path: string): readonly string[] {
  if (typeof type !== 'object') return [];
  if (type instanceof Entries) {
    const entries: readonly unknown[] = Array.isArray(value) ? value : [];
    return entries.flatMap((entry, index) =>
      isRecord(entry) ? unknownIn(type.fields, entry, `${path}[${index}]`) : [],
    );
  }
  return isRecord(value) ? unknownIn(type instanceof Pointer ? type.fields : type, value, path) : [];
}
