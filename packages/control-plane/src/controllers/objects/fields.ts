import type { ApiObject, OwnerReference } from '../../apimachinery/objects/object.ts';
import { items, look, text } from '../../apimachinery/objects/plain.ts';

export const controllerOf = (object: ApiObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find(({ controller }) => controller === true);

export const isDying = (object: ApiObject): boolean => object.metadata.deletionTimestamp !== undefined;

export const phaseOf = (object: ApiObject): string => text(look(object, 'status'), 'phase');

export const conditionOf = (object: ApiObject, type: string): Record<string, unknown> | undefined =>
  items(look(object, 'status'), 'conditions').find((condition) => condition.type === type);

export const isReady = (pod: ApiObject): boolean => conditionOf(pod, 'Ready')?.status === 'True';

export const observedOf = ({ metadata: { generation } }: ApiObject): { observedGeneration?: number } =>
  generation === undefined ? {} : { observedGeneration: generation };

export const isTerminal = (pod: ApiObject): boolean => phaseOf(pod) === 'Succeeded' || phaseOf(pod) === 'Failed';

/** Returns whether a pod is active: the pod has not ended and is not being deleted. */
export const isActive = (pod: ApiObject): boolean => !isTerminal(pod) && !isDying(pod);

export function transitionOf(object: ApiObject, type: string): Date | undefined {
  const time = conditionOf(object, type)?.lastTransitionTime;
  return typeof time === 'string' ? new Date(time) : undefined;
}

export const namespaceOf = (object: ApiObject): string => object.metadata.namespace ?? '';

export const nodeNameOf = (pod: ApiObject): string => text(look(pod, 'spec'), 'nodeName');

/** The value is an integer, or a percentage of `total`. */
export function scaled(value: unknown, total: number, roundUp: boolean): number {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || !/^\d+%$/.test(value)) return 0;
  const share = (Number(value.slice(0, -1)) * total) / 100;
  return roundUp ? Math.ceil(share) : Math.floor(share);
}

export const ownerReference = (owner: ApiObject): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name ?? '',
  uid: owner.metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});

export const labelPatch = (
  known: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string>>,
): Record<string, string | null> => ({
  ...Object.fromEntries(Object.keys(known ?? {}).map((name) => [name, null])),
  ...wanted,
});
