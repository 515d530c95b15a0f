import { badRequest } from '../apimachinery/errors/errors.ts';
import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { type Demand, fieldOf } from '../store/demand.ts';
import type { StoredRecord } from '../store/record.ts';

export interface Term {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

type FieldSelector = (record: StoredRecord) => boolean;

export interface ParsedFieldSelector {
  readonly matches: FieldSelector;
  readonly where: readonly Demand[];
}

const refused = (why: string): StatusError => badRequest(`invalid field selector: ${why}`);

/**
 * Removes the escapes in a value.
 * @throws StatusError 400 for an invalid escape
 */
function withoutEscapes(value: string): string {
  return value.replace(/\\(.?)|[,=]/gsu, (found, escaped: string | undefined) => {
    // As in Go, the error contains the code of the character.
    if (escaped === undefined) throw refused(`unescaped character in value: ${found.codePointAt(0)}`);
    if (escaped === '' || !'\\,='.includes(escaped)) throw refused(`invalid escape sequence: ${found}`);
    return escaped;
  });
}

function split(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === ',') {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts.filter((part) => part !== '');
}

function parseTerm(part: string, whole: string): Term {
  for (let at = 0; at < part.length; at++) {
    for (const operator of ['!=', '==', '=']) {
      if (!part.startsWith(operator, at)) continue;
      return {
        field: part.slice(0, at),
        equal: operator !== '!=',
        value: withoutEscapes(part.slice(at + operator.length)),
      };
    }
  }
  throw badRequest(`invalid selector: '${whole}'; can't understand '${part}'`);
}

function refuse(kind: KindDefinition, field: string): Error {
  const known = Object.keys(kind.selectableFields ?? {});
  if (kind.custom) return badRequest(`field label not supported: ${field}`);
  if (kind.kind === 'Job') return badRequest(`field label ${JSON.stringify(field)} not supported for Job`);
  if (known.length > 0) return badRequest(`field label not supported: ${field}`);
  return badRequest(
    `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
  );
}

/**
 * Parses the requirements of a field selector.
 * @throws StatusError 400 for an invalid selector
 */
export const parseTerms = (text: string): Term[] =>
  split(text)
    .sort()
    .map((part) => parseTerm(part, text))
    // The parser ignores a requirement without a field and a value.
    .filter(({ field, value }) => field !== '' || value !== '');

/** Returns the requirements of a field selector for authorizers, including fields that the server does not know. */
export function fieldDemands(text: string): readonly Term[] {
  try {
    return parseTerms(text);
  } catch (error) {
    if (error instanceof StatusError) return [];
    throw error;
  }
}

const WITHOUT_NAMESPACE: ReadonlySet<string> = new Set([
  '/namespaces',
  '/nodes',
  'certificates.k8s.io/certificatesigningrequests',
  'resource.k8s.io/resourceslices',
]);

/** Returns whether a kind has a field selector for the namespace. */
const selectsNamespace = ({ namespaced, custom, group, plural }: KindDefinition): boolean =>
  namespaced || (!custom && !WITHOUT_NAMESPACE.has(`${group}/${plural}`));

/**
 * Parses the `fieldSelector` of a query: `a=b,c!=d`.
 * @throws StatusError 400 for an invalid selector, or for a field that the kind does not support in selectors.
 */
export function parseFieldSelector(kind: KindDefinition, text: string): ParsedFieldSelector | undefined {
  const terms = parseTerms(text);
  if (terms.length === 0) return undefined;
  for (const { field } of terms) {
    const common = field === 'metadata.name' || (field === 'metadata.namespace' && selectsNamespace(kind));
    if (!common && !Object.hasOwn(kind.selectableFields ?? {}, field)) throw refuse(kind, field);
  }
  return {
    matches: (record) => terms.every(({ field, equal, value }) => (fieldOf(record, field) === value) === equal),
    where: terms.map(({ field, equal, value }) => (equal ? { field, value } : { field, values: [value], not: true })),
  };
}

export function fieldsOf(
  kind: KindDefinition,
  object: Parameters<NonNullable<KindDefinition['selectableFields']>[string]>[0],
): Record<string, string> | undefined {
  const selectable = kind.selectableFields;
  if (selectable === undefined) return undefined;
  const fields: Record<string, string> = {};
  for (const [path, read] of Object.entries({ ...kind.otherFields, ...selectable })) fields[path] = read(object);
  return fields;
}
