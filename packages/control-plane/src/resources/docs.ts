import { createRequire } from 'node:module';
import type descriptionData from '../kinds/generated/descriptions.json';
import type enumData from '../kinds/generated/enums.json';

export interface Description {
  readonly text: string;
  readonly fields: Readonly<Record<string, string>>;
}

type Enums = Readonly<Record<string, readonly string[]>>;

const load = createRequire(import.meta.url);
let descriptions: Readonly<Record<string, Description>> | undefined;
let enums: Readonly<Record<string, Enums>> | undefined;

/**
 * Returns the API documentation of a model. The file with the documentation has half a megabyte and is rarely needed,
 * so the first call loads it.
 */
export function descriptionOf(model: string): Description | undefined {
  descriptions ??= load('../kinds/generated/descriptions.json') as typeof descriptionData;
  return descriptions[model];
}

/** Returns the allowed values of the fields. The key `name[]` means the items of a list or the values of a map. */
export function enumsOf(model: string): Enums {
  enums ??= load('../kinds/generated/enums.json') as typeof enumData;
  return enums[model] ?? {};
}

/** Returns the API documentation of a model. */
export const modelDoc = (model: string): string => descriptionOf(model)?.text ?? '';

/** Returns the API documentation of a field, without the list of allowed values. */
export const fieldDoc = (model: string, field: string): string =>
  (descriptionOf(model)?.fields[field] ?? '').replace(/\n\nPossible enum values:\n.*$/s, '');
