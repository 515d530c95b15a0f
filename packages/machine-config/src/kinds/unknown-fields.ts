import { nearest } from '@mcm/kube';

/** What is said of a field that nobody reads: where it is, and which one was probably meant. */
export function unknownField(path: string, known: Iterable<string>): string {
  const name = path.slice(path.lastIndexOf('.') + 1);
  const meant = nearest(name, known);
  return `${path} is not known and has no effect (${meant === undefined ? 'remove it' : `did you mean ${meant}?`})`;
}

/** So many are told; the others are counted. */
const NAMED = 5;

/** All of them as one text; undefined for none. */
export function unknownFieldsText(sentences: readonly string[]): string | undefined {
  if (sentences.length === 0) return undefined;
  const more = sentences.length > NAMED ? `; and ${sentences.length - NAMED} more` : '';
  return `${sentences.slice(0, NAMED).join('; ')}${more}`;
}
