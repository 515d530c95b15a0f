import type { StatusCause } from '../status.ts';
import type { SchemaNode } from './node.ts';

/** Evaluates the CEL rules of a schema over an object. */
export function validateRules(_value: unknown, _old: unknown, _node: SchemaNode): StatusCause[] {
  return [];
}
