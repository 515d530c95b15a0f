import type { ApiObject, ManagedFieldsEntry } from '../../object.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { CARRIED_SCALE, carried } from '../carried.ts';
import { track } from '../create.ts';
import type { ServedKind } from '../kind-registry.ts';
import { formatTime, jsonEquals } from '../object-text.ts';
import type { WriteOptions } from '../options.ts';
import type { Call, Registry, Target } from '../registry.ts';
import { scaleOf } from './scale-of.ts';

/** A Scale as admission sees it, on its way in. */
export interface ScaleReview {
  readonly registry: Registry;
  readonly call: Call;
  readonly target: Target;
  readonly options: WriteOptions;
  /** Where the number stands in the object: `['spec', 'replicas']`. */
  readonly path: readonly string[];
  /** By server-side apply. */
  readonly applying: boolean;
}

const OWNED = { 'f:spec': { 'f:replicas': {} } };

/** The managers of the number, as managers of the Scale's. */
const managersOf = ({ metadata }: ApiObject, path: readonly string[]): ManagedFieldsEntry[] =>
  (metadata.managedFields ?? [])
    .filter(
      ({ fieldsV1 }) =>
        path.reduce<unknown>((at, step) => (at as Record<string, unknown>)?.[`f:${step}`], fieldsV1) !== undefined,
    )
    .map((entry) => ({ ...entry, apiVersion: 'autoscaling/v1', fieldsV1: OWNED }));

/** The Scale of an object with the managers of its number, as a patch of it sees it. */
export const managedScale = (served: ServedKind, object: ApiObject, path: readonly string[]): ApiObject =>
  withManagers(scaleOf(served, object) as unknown as ApiObject, managersOf(object, path));

const withManagers = (scale: ApiObject, managedFields: ManagedFieldsEntry[]): ApiObject =>
  managedFields.length === 0 ? scale : { ...scale, metadata: { ...scale.metadata, managedFields } };

/** The managers of a Scale that is on its way in: who writes it now is the only one with a number that is new. */
function managedBy(
  { registry, options, applying }: ScaleReview,
  object: ApiObject,
  old: ApiObject,
): ManagedFieldsEntry[] {
  const before = old.metadata.managedFields ?? [];
  const time = formatTime(registry.now());
  if (applying) {
    const same = jsonEquals(object.spec, old.spec) ? before : [];
    const others = same.filter(({ manager, operation }) => operation !== 'Apply' || manager !== options.fieldManager);
    const kind = { apiVersion: 'autoscaling/v1', fieldsType: 'FieldsV1', fieldsV1: OWNED } as const;
    return [...others, { ...kind, manager: options.fieldManager, operation: 'Apply', subresource: 'scale', time }];
  }
  const written: ApiObject = { ...object, metadata: { ...object.metadata, managedFields: before } };
  track(registry, CARRIED_SCALE, old, written, options, 'scale');
  const after = written.metadata.managedFields ?? [];
  if (after === before) return before;
  const isWriter = ({ manager, operation, subresource }: ManagedFieldsEntry): boolean =>
    manager === options.fieldManager && operation === 'Update' && subresource === 'scale';
  return after.map((entry) => (isWriter(entry) ? { ...entry, time } : entry));
}

/**
 * Asks those who may change a Scale about it. `live`: the object as it is.
 * @returns the Scale as it is wanted then
 * @throws StatusError of a refusal, or 500 for what is no Scale any more
 */
export async function admitScale(review: ScaleReview, live: ApiObject, wanted: ApiObject): Promise<ApiObject> {
  const { registry, target, path } = review;
  const old = managedScale(target.served, live, path);
  const spec = (wanted.spec ?? {}) as { replicas?: number };
  const object: ApiObject = {
    ...wanted,
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { ...wanted.metadata, namespace: target.namespace },
    // Go writes the number of a status always, that of a spec only when it is not zero.
    spec: spec.replicas === 0 ? {} : spec,
    status: { replicas: 0, ...((wanted.status ?? {}) as object) },
  };
  object.metadata.managedFields = managedBy(review, object, old);
  const attributes = attributesOf(review, object, old);
  const admitted = (await registry.admission.admit(attributes)) ?? object;
  if (admitted === object) return wanted;
  return admitted;
}

/** Asks those who may refuse it, about the Scale that the changed object has. */
export async function validateScale(review: ScaleReview, updated: ApiObject, old: ApiObject): Promise<void> {
  const { served } = review.target;
  const scales = [updated, old].map((one) => scaleOf(served, one) as unknown as ApiObject);
  const [object, before] = scales;
  if (object === undefined || before === undefined) return;
  await review.registry.admission.validate(attributesOf(review, object, before));
}

const attributesOf = (
  { registry, call, target, options }: ScaleReview,
  object: ApiObject,
  old: ApiObject,
): AdmissionAttributes =>
  registry.attributes(call, target, {
    operation: 'UPDATE',
    object,
    old,
    carries: carried(CARRIED_SCALE),
    dryRun: options.dryRun,
    options: options.given,
  });
