import {
  ANNOTATIONS_NOT_COPIED,
  Annotations,
  API_VERSION,
  Finalizers,
  Labels,
  type MachineDeployment,
  type MachineSet,
} from '@mcm/api';
import type { Draft } from '@mcm/kube';
import { defined, withoutUndefined } from '@mcm/kube';
import { controllerReference } from '../../objects/claim.ts';
import type { Limits } from '../../objects/limits.ts';
import { CONFIGURATION_FIELDS, configurationOf } from '../../objects/template-sync.ts';
import { revisionOf } from '../../rollout/revisions.ts';
import { setName, templateHash } from '../../rollout/template-hash.ts';
import { sameEntries, semanticEqual } from '../../values/semantic-equal.ts';

/**
 * The maximum number of earlier revisions that a set lists in its annotation. In the original, the list of revisions
 * grows without limit (BUG-2).
 */
const HISTORY_LENGTH = 20;

const copiedAnnotations = (deployment: MachineDeployment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !ANNOTATIONS_NOT_COPIED.has(key)),
  );

/**
 * An in-place update moves machines with their deletion marks to the new set. If the new set got a scaler time, it
 * would delete marked machines before the replicas are reduced.
 */
function initialAnnotations(deployment: MachineDeployment): Record<string, string> {
  const { [Annotations.LastReplicaChangeByScaler]: time, ...annotations } = copiedAnnotations(deployment);
  const named = deployment.metadata.annotations?.[Annotations.TriggerDeletion]?.trim();
  const waits = named && deployment.spec.strategy?.type === 'InPlaceUpdate';
  return time === undefined || waits ? annotations : { ...annotations, [Annotations.LastReplicaChangeByScaler]: time };
}

export const scaleAnnotations = (replicas: number, limits: Limits): Record<string, string> => ({
  [Annotations.DesiredReplicas]: String(replicas),
  [Annotations.MaxReplicas]: String(replicas + limits.annotatedSurge),
});

/** Returns the set for a template that has no set yet (docs/compatibility/rules-deployments.md §2.7). */
export function newSet(
  deployment: MachineDeployment,
  options: { readonly replicas: number; readonly revision: number; readonly limits: Limits },
): Draft<MachineSet> {
  const { template, selector, minReadySeconds, autoPreserveFailedMachineMax } = deployment.spec;
  const hash = templateHash(template, deployment.status?.collisionCount);
  const labels = { ...template.metadata?.labels, [Labels.TemplateHash]: hash };
  const { namespace } = deployment.metadata;
  return {
    apiVersion: API_VERSION,
    kind: 'MachineSet',
    metadata: defined({
      name: setName(deployment, hash),
      namespace,
      labels,
      annotations: {
        ...initialAnnotations(deployment),
        [Annotations.Revision]: String(options.revision),
        ...scaleAnnotations(deployment.spec.replicas ?? 0, options.limits),
      },
      finalizers: [Finalizers.MachineControllerManager],
      ownerReferences: [controllerReference(deployment as MachineDeployment & { kind: string })],
    }),
    spec: defined({
      replicas: options.replicas,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [Labels.TemplateHash]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
      minReadySeconds,
      autoPreserveFailedMachineMax,
    }),
  };
}

function withRevision(annotations: Record<string, string>, set: MachineSet, revision: number): Record<string, string> {
  const before = revisionOf(set);
  // A revision that is not an integer comes from another client, so the manager keeps the revision.
  if (before === undefined || before >= revision) return annotations;
  const next = { ...annotations, [Annotations.Revision]: String(revision) };
  if (set.metadata.annotations?.[Annotations.Revision] === undefined) return next;
  const history = (annotations[Annotations.RevisionHistory] ?? '').split(',').filter((entry) => entry !== '');
  return { ...next, [Annotations.RevisionHistory]: [...history, String(before)].slice(-HISTORY_LENGTH).join(',') };
}

/** Copies fields of the template to the set. A change of these fields needs no rollout. */
function syncedTemplate(deployment: MachineDeployment, set: MachineSet): MachineSet['spec']['template'] {
  const mine = set.spec.template;
  const theirs = deployment.spec.template.spec;
  const { nodeTemplate, ...rest } = mine.spec;
  const kept = Object.fromEntries(
    Object.entries(rest).filter(([field]) => !(CONFIGURATION_FIELDS as readonly string[]).includes(field)),
  ) as Pick<typeof mine.spec, 'class'>;
  const wanted = semanticEqual(nodeTemplate, theirs.nodeTemplate) ? nodeTemplate : theirs.nodeTemplate;
  return {
    ...mine,
    spec: defined({
      ...kept,
      ...configurationOf(theirs),
      class: { ...mine.spec.class, kind: theirs.class.kind },
      nodeTemplate: wanted,
    }),
  };
}

/**
 * Copies the annotations, revision, node template, configuration and class kind of the deployment to the current set
 * (docs/compatibility/rules-deployments.md §2.3).
 */
export function syncedSet(
  deployment: MachineDeployment,
  set: MachineSet,
  revision: number,
  scalerTime?: string,
): MachineSet {
  const { [Annotations.LastReplicaChangeByScaler]: _, ...copied } = copiedAnnotations(deployment);
  const time = scalerTime === undefined ? {} : { [Annotations.LastReplicaChangeByScaler]: scalerTime };
  const annotations = withRevision({ ...set.metadata.annotations, ...copied, ...time }, set, revision);
  const template = syncedTemplate(deployment, set);
  const { minReadySeconds, autoPreserveFailedMachineMax } = deployment.spec;
  const spec: MachineSet['spec'] = {
    ...set.spec,
    template,
    ...withoutUndefined({ minReadySeconds, autoPreserveFailedMachineMax }),
  };
  if (minReadySeconds === undefined) delete spec.minReadySeconds;
  if (autoPreserveFailedMachineMax === undefined) delete spec.autoPreserveFailedMachineMax;
  const same = sameEntries(annotations, set.metadata.annotations) && semanticEqual(spec, set.spec);
  return same ? set : { ...set, metadata: { ...set.metadata, annotations }, spec };
}
