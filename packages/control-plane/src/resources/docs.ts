import { createRequire } from 'node:module';
// For their types, and so that the build takes the files along.
import type descriptionData from '../kinds/generated/descriptions.json';
import type enumData from '../kinds/generated/enums.json';

/** The texts of one model. */
export interface Description {
  readonly text: string;
  readonly fields: Readonly<Record<string, string>>;
}

type Enums = Readonly<Record<string, readonly string[]>>;

const load = createRequire(import.meta.url);
let descriptions: Readonly<Record<string, Description>> | undefined;
let enums: Readonly<Record<string, Enums>> | undefined;

/** Half a megabyte that few ever ask for, so it is read when the first does. */
export function descriptionOf(model: string): Description | undefined {
  descriptions ??= load('../kinds/generated/descriptions.json') as typeof descriptionData;
  return descriptions[model];
}

/** The values that fields of a model may have, by their names; `name[]` stands for the items of a list or the values of a map. */
export function enumsOf(model: string): Enums {
  enums ??= load('../kinds/generated/enums.json') as typeof enumData;
  return enums[model] ?? {};
}

/** What the API documentation says of a model, e.g. `V1Pod`; '' when nothing. */
export const modelDoc = (model: string): string => descriptionOf(model)?.text ?? '';

/** What it says of one of its fields, without the list of its allowed values. */
export const fieldDoc = (model: string, field: string): string =>
  (descriptionOf(model)?.fields[field] ?? '').replace(/\n\nPossible enum values:\n.*$/s, '');
