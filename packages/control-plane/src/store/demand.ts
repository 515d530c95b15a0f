import type { StoredRecord } from './record.ts';

export const LABEL = 'label:';
/** The value of a missing label. No label can have this value. */
export const ABSENT = '\u0000';

/**
 * The requirement that a field has one given value. `field` is `metadata.name`, `metadata.namespace`, a selectable
 * field of the kind, or a label.
 */
interface Equality {
  readonly field: string;
  readonly value: string;
}

/**
 * A requirement: the field must have one of these values. With `not`, the field must have none of these values.
 * `ABSENT` may be one of the values.
 */
export interface Choice {
  readonly field: string;
  readonly values: readonly string[];
  readonly not: boolean;
}

export type Demand = Equality | Choice;

export const choiceOf = (demand: Demand): Choice =>
  'values' in demand ? demand : { field: demand.field, values: [demand.value], not: false };

/**
 * Returns the only value that a requirement allows. If the requirement allows several values, the result is undefined.
 */
export function onlyValueOf(demand: Demand): string | undefined {
  if (!('values' in demand)) return demand.value;
  return demand.not || demand.values.length !== 1 ? undefined : demand.values[0];
}

/** Returns the value of a field or label. An empty field has an empty value. An absent label has the value `ABSENT`. */
export function fieldOf(record: StoredRecord, field: string): string {
  if (field === 'metadata.name') return record.name;
  if (field === 'metadata.namespace') return record.namespace;
  if (field.startsWith(LABEL)) {
    const key = field.slice(LABEL.length);
    return record.labels !== undefined && Object.hasOwn(record.labels, key) ? (record.labels[key] ?? ABSENT) : ABSENT;
  }
  return record.fields?.[field] ?? '';
}

export const meetsOne = (record: StoredRecord, demand: Demand): boolean =>
  'values' in demand
    ? demand.values.includes(fieldOf(record, demand.field)) !== demand.not
    : fieldOf(record, demand.field) === demand.value;

export const meets = (record: StoredRecord, where: readonly Demand[]): boolean =>
  where.every((demand) => meetsOne(record, demand));

/**
 * Returns the value of a field if all requirements together allow only this value. If the requirements allow several
 * values or none, the result is undefined.
 */
export function pinned(where: readonly Demand[], field: string): string | undefined {
  for (const demand of where) {
    if (demand.field !== field) continue;
    const value = onlyValueOf(demand);
    if (value !== undefined) return value;
  }
  return undefined;
}
