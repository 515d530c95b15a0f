import type { ApiObject, ManagedFieldsEntry } from '../../object.ts';
import { StatusError } from '../../status.ts';
import { type Ownership, readEntries, writeEntries } from './entries.ts';
import { difference, EMPTY_SET, type FieldSet, fieldSet, LEAF } from './fieldSet.ts';

/** An apply of the number of replicas through `…/scale`. */
export interface ReplicasApply {
  readonly live: ApiObject;
  /** Where the number stands: `['spec', 'replicas']`. */
  readonly path: readonly string[];
  /** The applied number is another one than the live one. */
  readonly changes: boolean;
  readonly manager: string;
  readonly force: boolean;
  /** Of the object, not of its Scale. */
  readonly apiVersion: string;
  readonly custom: boolean;
}

const setOf = (path: readonly string[]): FieldSet =>
  path.reduceRight<FieldSet>((set, step) => fieldSet(false, new Map([[`f:${step}`, set]])), LEAF);

const owns = (set: FieldSet, path: readonly string[]): boolean =>
  path.reduce<FieldSet>((at, step) => at.children.get(`f:${step}`) ?? EMPTY_SET, set).self;

function conflictWith(others: readonly Ownership[]): StatusError {
  const causes = others.map((owner) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${JSON.stringify(owner.manager)}${owner.operation === 'Apply' ? '' : ' using autoscaling/v1'}`,
    field: '.spec.replicas',
  }));
  const list =
    causes.length === 1
      ? `1 conflict: ${causes[0]?.message}: .spec.replicas`
      : `${causes.length} conflicts: ${causes.map(({ message }) => `${message}:\n- .spec.replicas`).join('\n')}`;
  return new StatusError({
    message: `Apply failed with ${list}`,
    reason: 'Conflict',
    details: { causes },
    code: 409,
  });
}

/** The managedFields once a Scale of no replicas was written: its type leaves a zero out, so nobody owns the number any more. */
export function disownReplicas({ metadata }: ApiObject, path: readonly string[]): ManagedFieldsEntry[] {
  const set = setOf(path);
  return writeEntries(
    readEntries(metadata.managedFields).map((owner) => {
      if (!owns(owner.set, path)) return owner;
      const { entry: _stale, ...facts } = owner;
      return { ...facts, set: difference(owner.set, set) };
    }),
  );
}

const INVALID = 'request to convert CR to an invalid group/version: autoscaling/v1';

const failure = (message: string): StatusError => new StatusError({ message, code: 500 });

/**
 * The managedFields after an apply of `…/scale`. The real server cannot convert the Scale of a custom kind, so there an apply that
 * would change the number is a failure.
 * @throws StatusError 409 when the number is another manager's, 500 of a custom kind
 */
export function applyReplicas(input: ReplicasApply): ManagedFieldsEntry[] {
  const { live, path, changes, manager, force, apiVersion, custom } = input;
  const owners = readEntries(live.metadata.managedFields);
  const isOwn = (owner: Ownership): boolean =>
    owner.manager === manager && owner.operation === 'Apply' && owner.subresource === 'scale';
  const holders = owners.filter(({ set }) => owns(set, path));
  if (custom && holders.length === 0) {
    throw failure(
      `failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version: ${INVALID}`,
    );
  }
  const others = changes ? holders.filter((owner) => !isOwn(owner)) : [];
  if (others.length > 0 && !force) throw conflictWith(others);
  if (custom && changes) {
    const { namespace = '', name = '' } = live.metadata;
    throw failure(
      `failed to convert new object (${namespace}/${name}; autoscaling/v1, Kind=Scale) to proper version: ${INVALID}`,
    );
  }
  const set = setOf(path);
  const kept = owners.flatMap((owner): Ownership[] => {
    if (isOwn(owner)) return [];
    if (!holders.includes(owner) || (owner.operation === 'Apply' && !others.includes(owner))) return [owner];
    // Updaters of the number become updaters of the Scale and come back without their time (ScaleHandler.ToParent).
    const { entry: _stale, ...facts } = owner;
    const rest = { ...facts, set: difference(owner.set, set) };
    return others.includes(owner) ? [rest] : [rest, { ...facts, apiVersion, time: undefined, set }];
  });
  // The Scale's own entries lose their time on the way back to the object.
  const own: Ownership = { manager, operation: 'Apply', apiVersion, subresource: 'scale', time: undefined, set };
  return writeEntries([...kept, own]);
}
