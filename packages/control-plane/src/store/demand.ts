import type { StoredRecord } from './record.ts';

export const LABEL = 'label:';
/** The value of a record without the label, which is not a valid label value. */
export const ABSENT = '\u0000';

/** `field` is `metadata.name`, `metadata.namespace`, a selectable field of the kind, or a label. */
interface Equality {
  readonly field: string;
  readonly value: string;
}

/**
 * The field must have one of these values. With `not`, the field must have none of these values. `ABSENT` may be one of
 * the values.
 */
export interface Choice {
  readonly field: string;
  readonly values: readonly string[];
  readonly not: boolean;
}

export type Demand = Equality | Choice;

export const choiceOf = (demand: Demand): Choice =>
  'values' in demand ? demand : { field: demand.field, values: [demand.value], not: false };

/** The result is undefined if the requirement allows several values. */
export function onlyValueOf(demand: Demand): string | undefined {
  if (!('values' in demand)) return demand.value;
  return demand.not || demand.values.length !== 1 ? undefined : demand.values[0];
}

/** The value is empty for an empty field, and `ABSENT` for an absent label. */
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
 * Returns the only value of a field that all requirements allow. The result is undefined if the requirements allow
 * several values or no value.
 */
export function pinned(where: readonly Demand[], field: string): string | undefined {
  for (const demand of where) {
    if (demand.field !== field) continue;
    const value = onlyValueOf(demand);
    if (value !== undefined) return value;
  }
  return undefined;
}
