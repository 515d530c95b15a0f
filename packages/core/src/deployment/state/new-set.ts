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
import { controllerReference } from '../../objects/claim.ts';
import type { Limits } from '../../objects/limits.ts';
import { CONFIGURATION_FIELDS, configurationOf } from '../../objects/template-sync.ts';
import { revisionOf } from '../../rollout/revisions.ts';
import { setName, templateHash } from '../../rollout/template-hash.ts';
import { semanticEqual } from '../../values/semantic-equal.ts';

/** How many former revisions a set remembers. The original's list grows without end (BUG-2 of docs/compatibility/rules-deployments.md). */
const HISTORY_LENGTH = 20;

/** The deployment's annotations that its current set carries too. */
export const copiedAnnotations = (deployment: MachineDeployment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !ANNOTATIONS_NOT_COPIED.has(key)),
  );

/**
 * What a new set gets of them. Machines that are updated where they are keep their marks in the new set: while names are
 * open it is born without the time that would delete those machines before the count has fallen.
 */
function bornWith(deployment: MachineDeployment): Record<string, string> {
  const { [Annotations.LastReplicaChangeByScaler]: time, ...annotations } = copiedAnnotations(deployment);
  const named = deployment.metadata.annotations?.[Annotations.TriggerDeletion]?.trim();
  const waits = named && deployment.spec.strategy?.type === 'InPlaceUpdate';
  return time === undefined || waits ? annotations : { ...annotations, [Annotations.LastReplicaChangeByScaler]: time };
}

/** The annotations that say what a set was last scaled for. */
export const scaleAnnotations = (replicas: number, limits: Limits): Record<string, string> => ({
  [Annotations.DesiredReplicas]: String(replicas),
  [Annotations.MaxReplicas]: String(replicas + limits.annotatedSurge),
});

/** The set for the deployment's present template (docs/compatibility/rules-deployments.md §2.7), born with its finalizer. */
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
    metadata: {
      name: setName(deployment, hash),
      ...(namespace === undefined ? {} : { namespace }),
      labels,
      annotations: {
        ...bornWith(deployment),
        [Annotations.Revision]: String(options.revision),
        ...scaleAnnotations(deployment.spec.replicas ?? 0, options.limits),
      },
      finalizers: [Finalizers.MachineControllerManager],
      ownerReferences: [controllerReference(deployment as MachineDeployment & { kind: string })],
    },
    spec: {
      replicas: options.replicas,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [Labels.TemplateHash]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      ...(autoPreserveFailedMachineMax === undefined ? {} : { autoPreserveFailedMachineMax }),
    },
  };
}

function withRevision(annotations: Record<string, string>, set: MachineSet, revision: number): Record<string, string> {
  const before = revisionOf(set);
  // A revision that is no integer is somebody else's writing: it is left alone.
  if (before === undefined || before >= revision) return annotations;
  const next = { ...annotations, [Annotations.Revision]: String(revision) };
  if (set.metadata.annotations?.[Annotations.Revision] === undefined) return next;
  const history = (annotations[Annotations.RevisionHistory] ?? '').split(',').filter((entry) => entry !== '');
  return { ...next, [Annotations.RevisionHistory]: [...history, String(before)].slice(-HISTORY_LENGTH).join(',') };
}

/** The set's template with what flows in place taken from the deployment's. */
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
    spec: {
      ...kept,
      ...configurationOf(theirs),
      class: { ...mine.spec.class, kind: theirs.class.kind },
      ...(wanted === undefined ? {} : { nodeTemplate: wanted }),
    },
  };
}

/**
 * The current set as the deployment wants it, but for its size (docs/compatibility/rules-deployments.md §2.3): annotations, revision, node template,
 * configuration, class kind. The very same object when nothing differs. The history of revisions grows only when the
 * revision does.
 *
 * @param revision One more than the highest revision among the old sets.
 * @param scalerTime Time of the scaler's last change, RFC 3339; undefined: the set's own stays.
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
    ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
    ...(autoPreserveFailedMachineMax === undefined ? {} : { autoPreserveFailedMachineMax }),
  };
  if (minReadySeconds === undefined) delete spec.minReadySeconds;
  if (autoPreserveFailedMachineMax === undefined) delete spec.autoPreserveFailedMachineMax;
  const same = semanticEqual(annotations, set.metadata.annotations) && semanticEqual(spec, set.spec);
  return same ? set : { ...set, metadata: { ...set.metadata, annotations }, spec };
}
