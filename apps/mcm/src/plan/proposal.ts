import { defaultMachineDeployment, type MachineClass, type MachineDeployment } from '@mcm/api';
import { type LabelSelector, parseLabelSelector, StatusError } from '@mcm/control-plane';
import { isEmptySelector, merged, validateDeployment } from '@mcm/core';
import type { KubeObject } from '@mcm/kube';
import { isRecord, withoutUndefined } from '@mcm/kube';
import { UserError } from '../command/errors.ts';

/**
 * The annotation with the last applied object. If a file lacks a field of this object, the user has removed the field.
 */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

export interface Proposals {
  /**
   * If the file contains no MachineDeployment, the plan is for the stored deployments that use the classes in the file.
   */
  readonly deployments: readonly KubeObject[];
  readonly classes: readonly MachineClass[];
}

/**
 * Returns the MachineDeployments and MachineClasses in a file.
 * @throws UserError if the file contains none of them, or if the selector is invalid
 */
export function proposalsIn(objects: readonly KubeObject[], from: string, selector?: string): Proposals {
  const ours = objects.filter((object) => object.apiVersion?.startsWith('machine.sapcloud.io/') === true);
  const isSelected = matcherOf(selector);
  const all = ours.filter(({ kind }) => kind === 'MachineDeployment');
  const classes = ours.filter(({ kind }) => kind === 'MachineClass') as (KubeObject & MachineClass)[];
  if (all.length === 0 && selector === undefined && classes.length > 0) return { deployments: [], classes };
  if (all.length === 0) throw new UserError(`${from} contains no MachineDeployment for the plan`);
  const deployments = all.filter(({ metadata }) => isSelected(metadata.labels));
  if (deployments.length === 0) throw new UserError(`no MachineDeployment in ${from} has the labels ${selector}`);
  const nameless = deployments.find(({ metadata }) => !metadata.name);
  if (nameless) throw new UserError(`${from} contains a MachineDeployment without metadata.name`);
  return { deployments, classes };
}

function matcherOf(selector: string | undefined): LabelSelector {
  try {
    return parseLabelSelector(selector ?? '') ?? (() => true);
  } catch (error) {
    if (error instanceof StatusError) throw new UserError(`invalid --selector: ${error.message}`);
    throw error;
  }
}

/** Returns the merge patch that `kubectl apply` sends for a custom resource. */
function threeWayPatch(last: unknown, file: unknown): unknown {
  if (!isRecord(file)) return file;
  const gone = isRecord(last) ? Object.keys(last).filter((key) => !(key in file)) : [];
  const kept = Object.entries(file).map(([key, value]) => [key, threeWayPatch(isRecord(last) ? last[key] : {}, value)]);
  return Object.fromEntries([...gone.map((key) => [key, null]), ...kept]);
}

function lastApplied(stored: MachineDeployment): unknown {
  const { metadata, spec } = parsed(stored.metadata.annotations?.[LAST_APPLIED] ?? '{}');
  const { labels, annotations } = isRecord(metadata) ? metadata : {};
  return withoutUndefined({
    metadata: withoutUndefined({ labels: labels || undefined, annotations }),
    spec: spec || undefined,
  });
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {}; // If the annotation cannot be parsed, no field counts as removed.
  }
}

/**
 * Returns the deployment that the API server would store after `kubectl apply`.
 * @param stored The stored deployment. For a new deployment, `stored` is undefined.
 * @throws UserError with the name of the invalid field
 */
export function proposed(file: KubeObject, stored: MachineDeployment | undefined, now: Date): MachineDeployment {
  const { metadata: _, status: __, ...rest } = file as KubeObject & { status?: unknown };
  const { name, namespace, labels, annotations = {} } = file.metadata;
  const wanted = { ...rest, metadata: withoutUndefined({ name, annotations, labels }) };
  const fresh = {
    metadata: { name, namespace, uid: 'new', creationTimestamp: now.toISOString(), resourceVersion: '1' },
  };
  const result = merged(stored ?? fresh, threeWayPatch(stored ? lastApplied(stored) : {}, wanted));
  const deployment = defaultMachineDeployment({ ...(result as MachineDeployment), kind: 'MachineDeployment' });
  const violations = isRecord(deployment.spec)
    ? validateDeployment(deployment)
    : [{ field: 'spec', message: 'is missing' }];
  if (violations.length > 0) {
    const reported = violations.map(({ field, message }) => `${field} ${message}`).join('; ');
    throw new UserError(`machinedeployment ${name} is invalid: ${reported}`);
  }
  if (isEmptySelector(deployment.spec.selector)) {
    throw new UserError(`machinedeployment ${name}: spec.selector selects all machines; add labels to spec.selector`);
  }
  if (deployment.metadata.deletionTimestamp) throw new UserError(`machinedeployment ${name} is being deleted`);
  return deployment;
}
