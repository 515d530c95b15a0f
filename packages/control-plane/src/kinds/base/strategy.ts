import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { Plain } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';

/** The additions of a kind to the generic behavior. */
export type Strategy = Pick<
  KindDefinition,
  | 'setDefaults'
  | 'defaultsOnRead'
  | 'shownAs'
  | 'prepareForCreate'
  | 'prepareForUpdate'
  | 'validate'
  | 'validateUpdate'
  | 'validateName'
  | 'assessesMetaLast'
  | 'defaultPropagation'
>;

/** A strategy that validates an update as a creation, and then by `change`. */
export function strategy(
  rules: Strategy & {
    /** `old`: the object before an update, whose faults an update may keep. */
    readonly causes?: (object: ApiObject, old?: ApiObject) => StatusCause[];
    readonly change?: (object: ApiObject, old: ApiObject) => StatusCause[];
    /** Validates a write of the status; default: nothing. */
    readonly statusCauses?: (object: ApiObject, old: ApiObject) => StatusCause[];
    /** The causes of the change come before those of the object; else after. */
    readonly changesFirst?: boolean;
  },
): Strategy {
  const { causes, change, statusCauses, changesFirst = false, ...hooks } = rules;
  return {
    ...hooks,
    validate: (object) => causes?.(object) ?? [],
    validateUpdate: (object, old, context) => {
      if (context.subresource === 'status') return statusCauses?.(object, old) ?? [];
      const own = causes?.(object, old) ?? [];
      const changes = change?.(object, old) ?? [];
      return changesFirst ? [...changes, ...own] : [...own, ...changes];
    },
  };
}

/** Empties the status of a new object; `zero` are the fields that its type always writes. */
export const withStatus =
  (zero: Plain = {}) =>
  (object: ApiObject): void => {
    object.status = structuredClone(zero);
  };
