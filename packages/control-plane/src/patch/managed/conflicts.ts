import { goQuote } from '../../apimachinery/errors/schema-causes.ts';
import { type StatusCause, StatusError } from '../../apimachinery/objects/status.ts';
import type { Ownership } from './fields/entries.ts';
import { printPath } from './fields/fieldPath.ts';
import { type FieldSet, paths } from './fields/fieldSet.ts';

/** A conflict: an apply would change fields of another manager. */
export interface Conflict {
  readonly owner: Ownership;
  readonly fields: FieldSet;
}

/** Returns the name of a manager in a conflict message. */
function nameOf(owner: Ownership): string {
  const subresource = owner.subresource === '' ? '' : ` with subresource ${goQuote(owner.subresource)}`;
  const version = owner.operation === 'Update' ? ` using ${owner.apiVersion}` : '';
  return `${goQuote(owner.manager)}${subresource}${version}`;
}

export function conflictError(conflicts: readonly Conflict[]): StatusError {
  const sorted = conflicts
    .map(({ owner, fields }) => ({ name: nameOf(owner), fields: [...paths(fields)].map(printPath) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const causes: StatusCause[] = sorted.flatMap(({ name, fields }) =>
    fields.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${name}`, field })),
  );
  const [first] = causes;
  const message =
    causes.length === 1
      ? `Apply failed with 1 conflict: ${first?.message}: ${first?.field}`
      : `Apply failed with ${causes.length} conflicts: ${sorted
          .map(({ name, fields }) => [`conflicts with ${name}:`, ...fields.map((field) => `- ${field}`)].join('\n'))
          .join('\n')}`;
  return new StatusError({ code: 409, reason: 'Conflict', message, details: { causes } });
}
