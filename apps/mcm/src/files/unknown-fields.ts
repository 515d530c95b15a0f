import { crds } from '@mcm/api';
import type { KubeObject } from '@mcm/kube';
import { isRecord } from '@mcm/kube';
import { machineConfigCrds } from '@mcm/machine-config';

/** The fields of `metadata`. */
const METADATA: ReadonlySet<string> = new Set([
  ...['name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion', 'generation', 'creationTimestamp'],
  ...['deletionTimestamp', 'deletionGracePeriodSeconds', 'labels', 'annotations', 'ownerReferences', 'finalizers'],
  'managedFields',
]);

type StructuralSchema = (typeof crds)[number]['spec']['versions'][number]['schema']['openAPIV3Schema'];

function schemaOf({ apiVersion = '', kind = '' }: KubeObject): StructuralSchema | undefined {
  for (const { spec } of [...crds, ...machineConfigCrds]) {
    const version = spec.versions.find(({ name }) => `${spec.group}/${name}` === apiVersion);
    if (version && spec.names.kind === kind) return version.schema.openAPIV3Schema;
  }
  return undefined;
}

/** Returns the paths of unknown fields in an object. */
export function unknownFieldsOf(object: KubeObject): readonly string[] {
  const schema = schemaOf(object);
  if (schema === undefined) return [];
  const { apiVersion: _, kind: __, metadata, ...rest } = object;
  const ofMetadata = Object.keys(isRecord(metadata) ? metadata : {}).filter((field) => !METADATA.has(field));
  return [...ofMetadata.map((field) => `metadata.${field}`), ...unknownBelow(rest, schema, '')];
}

function unknownBelow(value: unknown, schema: StructuralSchema, path: string): readonly string[] {
  const { properties, additionalProperties, items } = schema;
  if (Array.isArray(value)) {
    return items ? value.flatMap((item, index) => unknownBelow(item, items, `${path}[${index}]`)) : [];
  }
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    const at = path === '' ? key : `${path}.${key}`;
    const known = properties?.[key];
    if (known) return unknownBelow(field, known, at);
    if (schema['x-kubernetes-preserve-unknown-fields']) return [];
    if (additionalProperties) return unknownBelow(field, additionalProperties, at);
    return [at];
  });
}
