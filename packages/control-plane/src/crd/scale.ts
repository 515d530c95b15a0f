import { invalidValue } from '../apimachinery/errors/errors.ts';
import { isRecord, own } from '../apimachinery/objects/json-value.ts';
import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { goPlain } from '../patch/index.ts';

const MOST_REPLICAS = 2 ** 31 - 1;

const goType = (value: unknown): string =>
  Array.isArray(value)
    ? '[]interface {}'
    : isRecord(value)
      ? 'map[string]interface {}'
      : typeof value === 'boolean'
        ? 'bool'
        : typeof value === 'bigint'
          ? 'int64'
          : typeof value === 'number'
            ? Number.isInteger(value) && Math.abs(value) < 2 ** 63
              ? 'int64'
              : 'float64'
            : typeof value;

interface Found {
  readonly value?: unknown;
  readonly problem?: string;
}

/** Returns the value at a simple JSON path such as `.spec.replicas`. */
function valueAt(object: ApiObject, path: string, type: 'int64' | 'string'): Found {
  const fields = path.replace(/^\./, '').split('.');
  let value: unknown = object;
  for (const [index, field] of fields.entries()) {
    if (value === undefined || value === null) return {};
    if (!isRecord(value)) return { problem: wrongType(fields.slice(0, index + 1), value, 'map[string]interface{}') };
    value = own(value, field);
  }
  if (value === undefined || goType(value) === type) return { value };
  return { problem: wrongType(fields, value, type) };
}

/** The function formats a number beyond 64 bits as a float. */
const shown = (value: unknown): string =>
  typeof value === 'number' && Math.abs(value) >= 2 ** 63 ? value.toExponential() : goPlain(value);

const wrongType = (fields: readonly string[], value: unknown, expected: string): string =>
  `.${fields.join('.')} accessor error: ${shown(value)} is of the type ${value === null ? '<nil>' : goType(value)}, expected ${expected}`;

function replicasCauses(object: ApiObject, path: string): StatusCause[] {
  const { value = 0, problem } = valueAt(object, path, 'int64');
  if (problem !== undefined) return [invalidValue(path, 0, problem)];
  const replicas = Number(value);
  if (replicas < 0) return [invalidValue(path, value, 'should be a non-negative integer')];
  if (replicas > MOST_REPLICAS) return [invalidValue(path, value, `should be less than or equal to ${MOST_REPLICAS}`)];
  return [];
}

/** Validates the fields of the scale subresource. */
export function scaleCauses(
  scale: NonNullable<KindDefinition['subresources']>['scale'],
  object: ApiObject,
  subresource: string,
): StatusCause[] {
  if (scale === undefined) return [];
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  const causes = subresource === 'status' ? [] : replicasCauses(object, specReplicasPath);
  causes.push(...replicasCauses(object, statusReplicasPath));
  if (labelSelectorPath === undefined) return causes;
  const { problem } = valueAt(object, labelSelectorPath, 'string');
  if (problem !== undefined) causes.push(invalidValue(labelSelectorPath, '', problem));
  return causes;
}
