import { cloneJson } from '../../apimachinery/objects/json-value.ts';
import { apiVersionOf, type KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { nodeOf } from '../../schema/model/node.ts';
import { type Changes, compareObjects, type Scope } from './compare.ts';

export type ChangesIn = (apiVersion: string) => Changes;

export type VersionOf = (apiVersion: string) => KindDefinition | undefined;

function converted(object: ApiObject, from: KindDefinition, to: KindDefinition): ApiObject {
  const copy = cloneJson(object) as ApiObject;
  const stored = from.storedAs?.encode(copy) ?? copy;
  return to.storedAs?.decode(stored) ?? stored;
}

/** Returns the changes of a write in the API version of each manager. */
export function changesByVersion(
  old: ApiObject,
  next: ApiObject,
  kind: KindDefinition,
  scope: (kind: KindDefinition) => Scope,
  versionOf: VersionOf = () => undefined,
): ChangesIn {
  const compare = (of: KindDefinition, before: ApiObject, after: ApiObject): Changes =>
    compareObjects(before, after, of.schema === undefined ? undefined : nodeOf(of.schema), scope(of));
  const own = compare(kind, old, next);
  const known = new Map([[apiVersionOf(kind), own]]);
  return (apiVersion) => {
    let changes = known.get(apiVersion);
    if (changes === undefined) {
      const other = versionOf(apiVersion);
      // Two versions of a custom kind differ only in the apiVersion of their objects.
      if (other?.custom === true) changes = compare(other, old, next);
      else
        changes =
          other === undefined || (other.storedAs === undefined && kind.storedAs === undefined)
            ? own
            : compare(other, converted(old, kind, other), converted(next, kind, other));
      known.set(apiVersion, changes);
    }
    return changes;
  };
}
