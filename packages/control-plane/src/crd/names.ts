import { invalid, required } from '../apimachinery/errors/schema-causes.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { type Fields, text, texts } from './schema/fields.ts';
import { labelProblems } from './schema/words.ts';

/** Validates a name as a DNS label. */
function label(field: string, name: string): StatusCause[] {
  const problems = name === '' ? [] : labelProblems(name);
  return problems.length === 0 ? [] : [invalid(field, name, problems.join(','))];
}

const entry = (field: string, name: string): StatusCause[] =>
  name === '' ? [invalid(field, name, labelProblems(name).join(','))] : label(field, name);

function mixedCase(field: string, name: string): StatusCause[] {
  const problems = name === '' ? [] : labelProblems(name.toLowerCase());
  const words = `may have mixed case, but should otherwise match: ${problems.join(',')}`;
  return problems.length === 0 ? [] : [invalid(field, name, words)];
}

const REQUIRED = ['plural', 'singular', 'kind', 'listKind'];

/** Validates the requested names in `spec.names` of a CRD. */
export const validateNames = (names: Fields, path: string): StatusCause[] => [
  ...REQUIRED.filter((name) => text(names[name]) === '').map((name) => required(`${path}.${name}`)),
  ...validateGivenNames(names, path),
];

/** Validates names that a CRD may omit, such as `status.acceptedNames`. */
export function validateGivenNames(names: Fields, path: string): StatusCause[] {
  const kind = text(names.kind);
  const listKind = text(names.listKind);
  const causes = [
    ...label(`${path}.plural`, text(names.plural)),
    ...label(`${path}.singular`, text(names.singular)),
    ...mixedCase(`${path}.kind`, kind),
    ...mixedCase(`${path}.listKind`, listKind),
    ...texts(names.shortNames).flatMap((name, at) => entry(`${path}.shortNames[${at}]`, name)),
  ];
  if (kind !== '' && kind === listKind) {
    causes.push(invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same'));
  }
  causes.push(...texts(names.categories).flatMap((name, at) => entry(`${path}.categories[${at}]`, name)));
  return causes;
}
