import type { SchemaNode } from '../../schema/model/node.ts';
import { patchError } from './directives.ts';

export interface Field {
  readonly node: SchemaNode | undefined;
  readonly strategy: string;
  readonly mergeKey: string;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const fieldOf = (node: SchemaNode): Field => ({
  node,
  strategy:
    text(node.schema['x-kubernetes-patch-strategy'])
      .split(',')
      .find((each) => each !== 'retainKeys') ?? '',
  mergeKey: text(node.schema['x-kubernetes-patch-merge-key']),
});

/** Returns the name of a Go type for error messages. */
const structOf = ({ schema: { $id } }: SchemaNode): string =>
  typeof $id === 'string' ? ($id.split('.').at(-1) ?? '') : '';

const goKind = (node: SchemaNode): string =>
  node.types[0] === 'array' ? 'slice' : node.types[0] === 'object' ? 'map' : (node.types[0] ?? 'interface');

/**
 * Finds a field in the schema of an object.
 * @throws StatusError 500 for an unknown
 * field
 */
export function lookUp(node: SchemaNode | undefined, name: string): Field {
  if (node === undefined) return { node: undefined, strategy: '', mergeKey: '' };
  const child = node.properties.get(name);
  if (child !== undefined) return fieldOf(child);
  if (node.additional !== undefined || node.types[0] !== 'object') {
    throw patchError(`merging an object in json but data type is not struct, instead is: ${goKind(node)}`);
  }
  throw patchError(`unable to find api field in struct ${structOf(node)} for the json field "${name}"`);
}

/** @throws StatusError 500 if the field is not a list */
export function lookUpList(node: SchemaNode | undefined, name: string): Field {
  const field = lookUp(node, name);
  if (field.node === undefined || field.node.types[0] === 'array') return field;
  // As in kube-apiserver, the error contains the type of the object instead of the type of the field.
  throw patchError('expected slice or array type, but got: struct');
}
