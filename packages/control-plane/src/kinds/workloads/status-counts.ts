import { negativeCauses } from '../../apimachinery/errors/causes.ts';
import { invalidValue } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look, number } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';

/** The counts have the order of the checks in kube-apiserver. */
export interface StatusCounts {
  readonly fields: readonly string[];
  readonly partsOfReplicas?: readonly string[];
  readonly ready?: string;
  /** Whether an update must not decrease `collisionCount`. */
  readonly collisions?: boolean;
}

const tooMany = (status: unknown, field: string, limit: string, shownLimit: string): StatusCause[] => {
  const count = number(status, field) ?? 0;
  if (count <= (number(status, limit) ?? 0)) return [];
  return [invalidValue(`status.${field}`, count, `cannot be greater than ${shownLimit}`)];
};

function collisionCauses(status: unknown, old: unknown): StatusCause[] {
  const before = number(old, 'collisionCount');
  const count = number(status, 'collisionCount');
  if (before === undefined || (count !== undefined && count >= before)) return [];
  return [invalidValue('status.collisionCount', count ?? 0, 'cannot be decremented')];
}

export const statusCountCauses =
  ({ fields, partsOfReplicas = [], ready, collisions = false }: StatusCounts) =>
  (object: ApiObject, old: ApiObject): StatusCause[] => {
    const status = look(object, 'status');
    return [
      ...fields.flatMap((field) => negativeCauses(`status.${field}`, status[field])),
      ...partsOfReplicas.flatMap((field) => tooMany(status, field, 'replicas', 'status.replicas')),
      ...(ready === undefined ? [] : tooMany(status, 'availableReplicas', 'readyReplicas', ready)),
      ...(collisions ? collisionCauses(status, look(old, 'status')) : []),
    ];
  };
