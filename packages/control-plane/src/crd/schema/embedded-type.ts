import { invalidValue, requiredValue } from '../../apimachinery/errors/errors.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { labelProblems } from './words.ts';

export function embeddedTypeCauses(resource: Record<string, unknown>, path: string): StatusCause[] {
  const { apiVersion, kind } = resource;
  const causes: StatusCause[] = [];
  if (apiVersion === undefined) causes.push(requiredValue(`${path}.apiVersion`));
  if (kind === undefined) causes.push(requiredValue(`${path}.kind`));
  for (const [field, value] of Object.entries({ apiVersion, kind })) {
    if (value === undefined || typeof value === 'string') continue;
    causes.push(invalidValue(`${path}.${field}`, value, 'must be a string'));
  }
  if (apiVersion === '') causes.push(invalidValue(`${path}.apiVersion`, apiVersion, 'must not be empty'));
  else if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2) {
    const why = `unexpected GroupVersion string: ${apiVersion}`;
    causes.push(invalidValue(`${path}.apiVersion`, apiVersion, why));
  }
  if (typeof kind !== 'string') return causes;
  const problems = labelProblems(kind.toLowerCase());
  if (kind === '') causes.push(invalidValue(`${path}.kind`, kind, 'must not be empty'));
  else if (problems.length > 0) {
    const why = `may have mixed case, but should otherwise match: ${problems.join(',')}`;
    causes.push(invalidValue(`${path}.kind`, kind, why));
  }
  return causes;
}
