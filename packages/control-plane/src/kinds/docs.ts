import { createRequire } from 'node:module';
// For its type, and so that the build takes the file along.
import type descriptionData from './generated/descriptions.json';

/** The texts of one model. */
export interface Description {
  readonly text: string;
  readonly fields: Readonly<Record<string, string>>;
}

let loaded: Readonly<Record<string, Description>> | undefined;

/** Half a megabyte that few ever ask for, so it is read when the first does. */
export function descriptionOf(model: string): Description | undefined {
  loaded ??= createRequire(import.meta.url)('./generated/descriptions.json') as typeof descriptionData;
  return loaded[model];
}

/** The models have their texts on one line each; two spaces stand where a paragraph ended. */
const paragraphs = (text: string): string => text.replaceAll(/ {2}(?=\S)/g, '\n\n');

/** What the API documentation says of a model, e.g. `V1Pod`; '' when nothing. */
export const modelDoc = (model: string): string => paragraphs(descriptionOf(model)?.text ?? '');

/** The same of a field, its two spaces as they stand: most sentences of older types are set apart that way. */
export const fieldLine = (model: string, field: string): string => descriptionOf(model)?.fields[field] ?? '';

/** What it says of one of its fields. */
export const fieldDoc = (model: string, field: string): string => paragraphs(descriptionOf(model)?.fields[field] ?? '');
