import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { Plain } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';

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

/** Creates the strategy of a kind. */
export function strategy(
  rules: Strategy & {
    /**
     * Returns the errors of an object. In an update, the function may omit an error that also exists in the old object.
     */
    readonly causes?: (object: ApiObject, old?: ApiObject) => StatusCause[];
    readonly change?: (object: ApiObject, old: ApiObject) => StatusCause[];
    readonly statusCauses?: (object: ApiObject, old: ApiObject) => StatusCause[];
    /** Whether the server reports the errors from `change` before the errors from `causes`. */
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

export const withStatus =
  (zero: Plain = {}) =>
  (object: ApiObject): void => {
    object.status = structuredClone(zero);
  };
