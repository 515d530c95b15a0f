import { isRecord } from '@mcm/kube';
import * as z from 'zod';
import { unknownIgnitionFields } from '../ignition/unknown.ts';
import { unknownField, unknownFieldsText } from '../kinds/unknown-fields.ts';

/**
 * Returns a text about the unknown fields of a spec, or undefined without unknown fields. The text omits the fields of
 * `config`, because the Ignition reader checks these fields.
 */
export function unknownInSpec(kind: string, schema: z.ZodObject, spec: unknown): string | undefined {
  const own = unknownIn(schema, { spec }, '');
  const ignition = kind === 'MachineConfig' && isRecord(spec) ? unknownIgnitionFields(spec.config) : [];
  return unknownFieldsText([...own, ...ignition]);
}

function unknownIn(schema: unknown, value: unknown, path: string): readonly string[] {
  if (schema instanceof z.ZodExactOptional || schema instanceof z.ZodNullable) {
    return unknownIn(schema.unwrap(), value, path);
  }
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return value.flatMap((entry, index) => unknownIn(schema.element, entry, `${path}[${index}]`));
  }
  if (!(schema instanceof z.ZodObject) || !isRecord(value)) return [];
  // The reader of Ignition, of the kubelet or of templates checks the fields of these objects.
  const open = schema.def.catchall !== undefined || schema.meta()?.['x-kubernetes-preserve-unknown-fields'] === true;
  const known = Object.keys(schema.shape);
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = path === '' ? key : `${path}.${key}`;
    if (known.includes(key)) return unknownIn(schema.shape[key], inner, at);
    return open ? [] : unknownField(at, known);
  });
}
