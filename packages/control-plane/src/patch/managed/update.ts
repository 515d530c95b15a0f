import type { JsonSchema, KindDefinition } from '../../kinds/kind.ts';
import type { ApiObject, ManagedFieldsEntry } from '../../object.ts';

/** What the bookkeeping of a create, update or patch needs to know. */
export interface UpdateInput {
  readonly live?: ApiObject;
  readonly updated: ApiObject;
  readonly manager: string;
  readonly schema?: JsonSchema;
  readonly subresource: string;
  readonly now: Date;
  readonly kind: KindDefinition;
}

/** The managedFields that an object has after a write that was not an apply. */
export function trackUpdate(input: UpdateInput): ManagedFieldsEntry[] {
  return input.live?.metadata.managedFields ?? [];
}
