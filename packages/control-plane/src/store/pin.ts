import { ABSENT, type Choice, choiceOf, type Demand, fieldOf, LABEL, meetsOne, onlyValueOf, pinned } from './demand.ts';
import type { StoredRecord } from './store.ts';

/** Namespace and name in one. */
export const KEY = 'key';
/** What a record that meets a choice answers to its question. */
const MEETS = 'yes';

/** A question that a record answers with one value. `scoped`: the value begins with the namespace. */
export interface Pin {
  readonly field: string;
  readonly scoped: boolean;
  /** The question is whether a record meets this: `MEETS` or not. */
  readonly choice?: Choice | undefined;
  readonly value: string;
}

/** A key of a record: `namespace/name`; both parts are free of slashes. */
export const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;

/** What a record answers to a pin's question. */
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
 * The questions by which what meets all demands can be found; each of them suffices. None: everything has to be looked at.
 * With a namespace each is asked within it.
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

/** The label that a record must have for a pin to be about it; undefined: it may be about one without. */
export function labelOf({ field, choice }: Pin): string | undefined {
  if (!field.startsWith(LABEL)) return undefined;
  const needsIt = choice === undefined || choice.values.includes(ABSENT) === choice.not;
  return needsIt ? field.slice(LABEL.length) : undefined;
}

/** Distinct for each question, whatever its answer. */
export const questionOf = ({ field, scoped, choice }: Omit<Pin, 'value'>): string => {
  const asked = `${scoped ? 'n' : 'a'} ${field}`;
  return choice === undefined ? asked : `${asked} ${choice.not ? 'not' : 'in'} ${JSON.stringify(choice.values)}`;
};
