import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { type ReplicasPath, scaleEntries } from '../../patch/index.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { WriteOptions } from '../../resources/options.ts';
import type { Call, Registry, Target } from '../../resources/registry.ts';
import { CARRIED_SCALE, carried } from '../bodies/carried.ts';
import { track } from '../writes/create.ts';
import { scaleOf } from './scale-of.ts';

export interface ScaleReview {
  readonly registry: Registry;
  readonly call: Call;
  readonly target: Target;
  readonly options: WriteOptions;
  readonly pathOf: ReplicasPath;
  readonly applying: boolean;
}

export function managedScale(served: ServedKind, object: ApiObject, pathOf: ReplicasPath): ApiObject {
  const scale = scaleOf(served, object) as ApiObject;
  const managedFields = scaleEntries(object.metadata.managedFields, pathOf);
  return managedFields.length === 0 ? scale : { ...scale, metadata: { ...scale.metadata, managedFields } };
}

/** Records the field manager of a write. */
function withWriter({ registry, options }: ScaleReview, object: ApiObject, old: ApiObject): ApiObject {
  const written = { ...object, metadata: { ...object.metadata, managedFields: old.metadata.managedFields ?? [] } };
  track(registry, CARRIED_SCALE, old, written, options, 'scale');
  return written;
}

/**
 * @returns the Scale after admission
 * @throws StatusError if a plugin refuses the Scale, and StatusError 500 if the plugins make the Scale invalid
 */
export async function admitScale(review: ScaleReview, live: ApiObject, wanted: ApiObject): Promise<ApiObject> {
  const { registry, target, pathOf } = review;
  const old = managedScale(target.served, live, pathOf);
  const spec = (wanted.spec ?? {}) as { replicas?: number | null };
  const sent: ApiObject = {
    ...wanted,
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { ...wanted.metadata, namespace: target.namespace },
    // As in Go, the Scale omits a `spec.replicas` of zero, but always contains `status.replicas`.
    spec: (spec.replicas ?? 0) === 0 ? {} : spec,
    status: { replicas: 0, ...((wanted.status ?? {}) as object) },
  };
  const object = review.applying ? sent : withWriter(review, sent, old);
  return (await registry.admission.admit(attributesOf(review, object, old))) ?? object;
}

/** Runs validating admission with the Scale of the changed object. */
export async function validateScale(review: ScaleReview, updated: ApiObject, old: ApiObject): Promise<void> {
  const { served } = review.target;
  const scales = [updated, old].map((one) => scaleOf(served, one) as ApiObject);
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
