import { ABSENT, type Choice, choiceOf, type Demand, fieldOf, LABEL, meetsOne, onlyValueOf, pinned } from './demand.ts';
import type { StoredRecord } from './record.ts';

/** The name of the index by namespace and name. */
export const KEY = 'key';
/** The index value of a record that meets the requirement `choice`. */
const MEETS = 'yes';

/** An index and a value in it. With `scoped`, the index value starts with the namespace. */
export interface Pin {
  readonly field: string;
  readonly scoped: boolean;
  /**
   * The requirement, if the requirement allows several values or excludes values. A record that meets the requirement
   * has the index value `MEETS`.
   */
  readonly choice?: Choice | undefined;
  readonly value: string;
}

/** Returns the key of a record: `namespace/name`. Namespaces and names contain no slash. */
export const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;

export function answerOf(record: StoredRecord, { field, scoped, choice }: Omit<Pin, 'value'>): string {
  if (field === KEY) return keyOf(record);
  const value = choice === undefined ? fieldOf(record, field) : meetsOne(record, choice) ? MEETS : '';
  return scoped ? `${record.namespace}/${value}` : value;
}

function pinOf(demand: Demand): Pick<Pin, 'field' | 'value' | 'choice'> {
  const value = onlyValueOf(demand);
  if (value !== undefined && value !== ABSENT) return { field: demand.field, value };
  return { field: demand.field, value: MEETS, choice: choiceOf(demand) };
}

/**
 * Returns the indexes that can find all records with the requirements. A search needs only one of these indexes. If the
 * list is empty, the search must read all records. With a namespace, an index contains only the records of this
 * namespace.
 */
export function pinsOf(where: readonly Demand[]): readonly Pin[] {
  const namespace = pinned(where, 'metadata.namespace');
  const name = pinned(where, 'metadata.name');
  if (name !== undefined && namespace !== undefined) {
    return [{ field: KEY, scoped: false, value: keyOf({ namespace, name }) }];
  }
  const others = where.filter((one) => one.field !== 'metadata.namespace' || onlyValueOf(one) === undefined).map(pinOf);
  if (namespace === undefined) return others.map((one) => ({ ...one, scoped: false }));
  if (others.length === 0) return [{ field: 'metadata.namespace', scoped: false, value: namespace }];
  return others.map((one) => ({ ...one, scoped: true, value: `${namespace}/${one.value}` }));
}

/** Returns the label of an index. If a record without the label may match, the result is undefined. */
export function labelOf({ field, choice }: Pin): string | undefined {
  if (!field.startsWith(LABEL)) return undefined;
  const needsIt = choice === undefined || choice.values.includes(ABSENT) === choice.not;
  return needsIt ? field.slice(LABEL.length) : undefined;
}

/** Returns the name of an index. Two indexes have different names. */
export const questionOf = ({ field, scoped, choice }: Omit<Pin, 'value'>): string => {
  const asked = `${scoped ? 'n' : 'a'} ${field}`;
  return choice === undefined ? asked : `${asked} ${choice.not ? 'not' : 'in'} ${JSON.stringify(choice.values)}`;
};
