import { defaultMachineDeployment, type MachineClass, type MachineDeployment } from '@mcm/api';
import { isEmptySelector, merged, validateDeployment } from '@mcm/core';
import type { KubeObject } from '@mcm/kube';
import { UserError } from '../command/errors.ts';

/** What kubectl wrote last of an object; what is in it and not in the file any more is taken away. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** What a file asks for. */
export interface Proposals {
  readonly deployments: readonly KubeObject[];
  /** Classes that would be there too. */
  readonly classes: readonly MachineClass[];
}

/** Sorts the objects of a file. Throws `UserError` when no MachineDeployment is among them. */
export function proposalsIn(objects: readonly KubeObject[], from: string): Proposals {
  const ours = objects.filter((object) => object.apiVersion?.startsWith('machine.sapcloud.io/') === true);
  const deployments = ours.filter(({ kind }) => kind === 'MachineDeployment');
  if (deployments.length === 0) throw new UserError(`${from} holds no MachineDeployment, which is what is planned`);
  const nameless = deployments.find(({ metadata }) => !metadata.name);
  if (nameless) throw new UserError(`${from} holds a MachineDeployment without metadata.name`);
  const classes = ours.filter(({ kind }) => kind === 'MachineClass') as (KubeObject & MachineClass)[];
  return { deployments, classes };
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The merge patch of `kubectl apply` for kinds of CRDs: what the file has, and null for what only the last one had. */
export function threeWayPatch(last: unknown, file: unknown): unknown {
  if (!isMap(file)) return file;
  const gone = isMap(last) ? Object.keys(last).filter((key) => !(key in file)) : [];
  const kept = Object.entries(file).map(([key, value]) => [key, threeWayPatch(isMap(last) ? last[key] : {}, value)]);
  return Object.fromEntries([...gone.map((key) => [key, null]), ...kept]);
}

/** What of it may be taken away: labels, annotations and fields of the spec. */
function lastApplied(stored: MachineDeployment): unknown {
  const { metadata, spec } = parsed(stored.metadata.annotations?.[LAST_APPLIED] ?? '{}');
  const { labels, annotations } = isMap(metadata) ? metadata : {};
  return { metadata: { ...(labels ? { labels } : {}), annotations }, ...(spec ? { spec } : {}) };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isMap(value) ? value : {};
  } catch {
    return {}; // What cannot be read takes nothing away.
  }
}

/**
 * The deployment as it would be stored after `kubectl apply`.
 * @param stored undefined: there is none yet
 * @throws UserError that names the field which is wrong
 */
export function proposed(file: KubeObject, stored: MachineDeployment | undefined, now: Date): MachineDeployment {
  const { metadata: _, status: __, ...rest } = file as KubeObject & { status?: unknown };
  const { name, namespace, labels, annotations = {} } = file.metadata;
  const wanted = { ...rest, metadata: { name, annotations, ...(labels ? { labels } : {}) } };
  const fresh = {
    metadata: { name, namespace, uid: 'new', creationTimestamp: now.toISOString(), resourceVersion: '1' },
  };
  const result = merged(stored ?? fresh, threeWayPatch(stored ? lastApplied(stored) : {}, wanted));
  const deployment = defaultMachineDeployment({ ...(result as MachineDeployment), kind: 'MachineDeployment' });
  const violations = isMap(deployment.spec)
    ? validateDeployment(deployment)
    : [{ field: 'spec', message: 'is missing' }];
  if (violations.length > 0) {
    const told = violations.map(({ field, message }) => `${field} ${message}`).join('; ');
    throw new UserError(`machinedeployment ${name} would be refused: ${told}`);
  }
  if (isEmptySelector(deployment.spec.selector)) {
    throw new UserError(`machinedeployment ${name}: spec.selector selects everything; name labels in it`);
  }
  if (deployment.metadata.deletionTimestamp) throw new UserError(`machinedeployment ${name} is being deleted`);
  return deployment;
}
