import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, type Plain } from '../../../apimachinery/objects/plain.ts';
import { compareRevisions, parseRevision } from '../revision.ts';
import { bareTemplate, OWN_ANNOTATIONS, ROLLBACK, revisionOf, sameTemplate } from './replica-sets.ts';

export interface Rollback {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly annotations: Record<string, string>;
  /** The template after the rollback, or undefined if the rollback changes nothing. */
  readonly template?: Plain;
}

/** Returns the revision in the annotation, or 0 for the previous revision. */
export const rollbackOf = ({ metadata: { annotations = {} } }: ApiObject): bigint | undefined =>
  parseRevision(annotations[ROLLBACK]);

/** Returns the second highest revision of the ReplicaSets, or 0 for fewer than two ReplicaSets. */
function lastRevision(sets: readonly ApiObject[]): bigint {
  const [, last = 0n] = sets.map(revisionOf).sort((a, b) => compareRevisions(b, a));
  return last;
}

/**
 * Returns the annotations after a rollback. The Deployment gets the annotations of the ReplicaSet, and keeps some of
 * its own (`SetDeploymentAnnotationsTo`).
 */
function annotationsFrom(own: Readonly<Record<string, string>>, set: ApiObject): Record<string, string> {
  const isOwn = (name: string): boolean => OWN_ANNOTATIONS.has(name);
  return Object.fromEntries([
    ...Object.entries(own).filter(([name]) => isOwn(name)),
    ...Object.entries(set.metadata.annotations ?? {}).filter(([name]) => !isOwn(name)),
  ]);
}

/** The plan always removes the annotation that requests the rollback. */
export function planRollback(deployment: ApiObject, sets: readonly ApiObject[], wanted: bigint): Rollback {
  const { [ROLLBACK]: _wish, ...annotations } = deployment.metadata.annotations ?? {};
  const revision = wanted === 0n ? lastRevision(sets) : wanted;
  if (revision === 0n) {
    const message = 'Unable to find last revision.';
    return { type: 'Warning', reason: 'DeploymentRollbackRevisionNotFound', message, annotations };
  }
  const set = sets.find((one) => revisionOf(one) === revision);
  if (set === undefined) {
    const message = 'Unable to find the revision to rollback to.';
    return { type: 'Warning', reason: 'DeploymentRollbackRevisionNotFound', message, annotations };
  }
  const name = JSON.stringify(deployment.metadata.name);
  if (sameTemplate(set, deployment)) {
    const message = `The rollback revision contains the same template as current deployment ${name}`;
    return { type: 'Warning', reason: 'DeploymentRollbackTemplateUnchanged', message, annotations };
  }
  return {
    type: 'Normal',
    reason: 'DeploymentRollback',
    message: `Rolled back deployment ${name} to revision ${revision}`,
    annotations: annotationsFrom(annotations, set),
    template: bareTemplate(set),
  };
}

export const rolledBack = (deployment: ApiObject, { annotations, template }: Rollback): ApiObject => ({
  ...deployment,
  metadata: { ...deployment.metadata, annotations },
  spec: template === undefined ? deployment['spec'] : { ...look(deployment, 'spec'), template },
});
