import { invalid, required } from '../apimachinery/errors/schema-causes.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { type Fields, text, texts } from './fields.ts';
import { labelProblems } from './words.ts';

function labels(field: string, name: string): StatusCause[] {
  if (name === '') return [required(field)];
  return labelProblems(name).map((problem) => invalid(field, name, problem));
}

function mixedCase(field: string, name: string): StatusCause[] {
  if (name === '') return [required(field)];
  return labelProblems(name.toLowerCase()).map((problem) =>
    invalid(field, name, `may have mixed case, but should otherwise match: ${problem}`),
  );
}

/** Validates `spec.names`. */
export function validateNames(names: Fields, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const plural = text(names.plural);
  const singular = text(names.singular);
  const kind = text(names.kind);
  const listKind = text(names.listKind);
  causes.push(...labels(`${path}.plural`, plural));
  causes.push(...labels(`${path}.singular`, singular), ...mixedCase(`${path}.kind`, kind));
  texts(names.shortNames).forEach((name, at) => {
    causes.push(...labels(`${path}.shortNames[${at}]`, name));
  });
  causes.push(...mixedCase(`${path}.listKind`, listKind));
  if (kind !== '' && kind === listKind) {
    causes.push(invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same'));
  }
  texts(names.categories).forEach((name, at) => {
    causes.push(...labels(`${path}.categories[${at}]`, name));
  });
  return causes;
}
