import { nearest } from '@mcm/kube';

/** Returns a sentence with the path of an unknown field, and the known field with the most similar name. */
export function unknownField(path: string, known: Iterable<string>): string {
  const name = path.slice(path.lastIndexOf('.') + 1);
  const meant = nearest(name, known);
  return `${path} is an unknown field without effect (${meant === undefined ? 'remove the field' : `did you mean ${meant}?`})`;
}

const NAMED = 5;

export function unknownFieldsText(sentences: readonly string[]): string | undefined {
  if (sentences.length === 0) return undefined;
  const more = sentences.length > NAMED ? `; and ${sentences.length - NAMED} more` : '';
  return `${sentences.slice(0, NAMED).join('; ')}${more}`;
}
