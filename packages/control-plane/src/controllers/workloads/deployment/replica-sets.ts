import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { copyJson, jsonEquals } from '../../../apimachinery/objects/object-text.ts';
import { defined, look, type Plain } from '../../../apimachinery/objects/plain.ts';
import { ownerReference } from '../../objects/fields.ts';
import { templateHash } from '../hash.ts';
import { parseRevision } from '../revision.ts';
import { growNew } from './rollout.ts';
import { DESIRED, MAX, sizeAnnotations } from './scale.ts';

const HASH_LABEL = 'pod-template-hash';
export const REVISION = 'deployment.kubernetes.io/revision';
export const ROLLBACK = 'deprecated.deployment.rollback.to';
const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
const HISTORY_LENGTH = 2000;

export const OWN_ANNOTATIONS: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION,
  REVISION_HISTORY,
  DESIRED,
  MAX,
  ROLLBACK,
]);

/** Returns the pod template of an object, and removes the label pod-template-hash from the result. */
export function bareTemplate(object: ApiObject): Plain {
  const template = copyJson(look(object, 'spec', 'template'));
  const labels = look(template, 'metadata', 'labels');
  delete labels[HASH_LABEL];
  return template;
}

export const revisionOf = (object: ApiObject): bigint => parseRevision(object.metadata.annotations?.[REVISION]) ?? 0n;

const createdAt = (set: ApiObject): number => new Date(set.metadata.creationTimestamp ?? 0).getTime();

export const sameTemplate = (a: ApiObject, b: ApiObject): boolean => jsonEquals(bareTemplate(a), bareTemplate(b));

/** Returns the ReplicaSet with the template of the Deployment. */
export const findFresh = (deployment: ApiObject, sets: readonly ApiObject[]): ApiObject | undefined =>
  [...sets].sort((a, b) => createdAt(a) - createdAt(b)).find((set) => sameTemplate(set, deployment));

function historyWith(annotations: Readonly<Record<string, string>>): string | undefined {
  const revision = annotations[REVISION];
  if (revision === undefined) return undefined;
  const revisions = (annotations[REVISION_HISTORY] ?? '').split(',').filter((one) => one !== '');
  revisions.push(revision);
  while (revisions.join().length > HISTORY_LENGTH) revisions.shift();
  return revisions.join();
}

/** Returns the annotations that the new ReplicaSet lacks (`SetNewReplicaSetAnnotations`). */
export function missingAnnotations(
  deployment: ApiObject,
  known: Readonly<Record<string, string>>,
  revision: bigint,
): Record<string, string> {
  const wanted: Record<string, string> = {};
  for (const [name, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!OWN_ANNOTATIONS.has(name)) wanted[name] = value;
  }
  if ((parseRevision(known[REVISION]) ?? 0n) < revision) {
    const history = historyWith(known);
    if (history !== undefined) wanted[REVISION_HISTORY] = history;
    wanted[REVISION] = String(revision);
  }
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => known[name] !== value));
}

export function newReplicaSet(deployment: ApiObject, old: readonly ApiObject[], revision: bigint): ApiObject {
  const template = copyJson(look(deployment, 'spec', 'template'));
  const { collisionCount } = look(deployment, 'status');
  const hash = templateHash(collisionCount === undefined ? template : { template, collisionCount });
  const meta = look(template, 'metadata');
  const podLabels = { ...look(meta, 'labels'), [HASH_LABEL]: hash } as Record<string, string>;
  const selector = look(deployment, 'spec', 'selector');
  const { minReadySeconds, strategy } = look(deployment, 'spec');
  const set: ApiObject = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      labels: podLabels,
      annotations: { ...missingAnnotations(deployment, {}, revision), ...sizeAnnotations(deployment) },
      ownerReferences: [ownerReference(deployment)],
    },
    spec: defined({
      replicas: 0,
      minReadySeconds,
      selector: { ...selector, matchLabels: { ...look(selector, 'matchLabels'), [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...meta, labels: podLabels } },
    }),
  };
  const isRecreated = look({ strategy }, 'strategy').type === 'Recreate';
  const replicas = isRecreated ? look(deployment, 'spec').replicas : growNew({ deployment, fresh: set, old });
  return { ...set, spec: { ...look(set, 'spec'), replicas } };
}
