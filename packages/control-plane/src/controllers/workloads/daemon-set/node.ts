import { child, items, look, type Plain, text } from '../../../kinds/plain.ts';
import type { ApiObject } from '../../../object.ts';
import { copyJson } from '../../../registry/object-text.ts';
import { nodeNameOf } from '../../runtime/objects.ts';
import { isNamed, tolerates } from '../../scheduler/fit.ts';
import { templateHash } from '../hash.ts';
import { podOf } from '../pods.ts';

export const HASH_LABEL = 'controller-revision-hash';
const GENERATION_LABEL = 'pod-template-generation';
const GENERATION = 'deprecated.daemonset.template.generation';

/** A daemon's pod stays where a node is unwell: it is told to tolerate that. */
const TOLERATIONS: readonly Plain[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  ...['disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable'].map((condition) => ({
    key: `node.kubernetes.io/${condition}`,
    operator: 'Exists',
    effect: 'NoSchedule',
  })),
];
const NETWORK: Plain = { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists', effect: 'NoSchedule' };

export const hashOf = (set: ApiObject): string => templateHash(look(set, 'spec', 'template'));

export const revisionName = (set: ApiObject): string => `${set.metadata.name}-${hashOf(set)}`;

/** Own tolerations of the template, and those that it does not have of every daemon's. */
function tolerationsOf(spec: Plain): Plain[] {
  const own = items(spec, 'tolerations');
  const all = spec.hostNetwork === true ? [...TOLERATIONS, NETWORK] : TOLERATIONS;
  const added = all.filter(
    ({ key, operator, effect }) =>
      !own.some((one) => one.key === key && one.operator === operator && one.effect === effect),
  );
  return [...own, ...added];
}

/** The pod of a set for one node: bound to it by affinity, which the scheduler carries out. */
export function daemonPod(set: ApiObject, node: string): Plain {
  const pod = copyJson(podOf(set, look(set, 'spec', 'template')));
  const meta = child(pod, 'metadata');
  const generation = set.metadata.annotations?.[GENERATION] ?? '1';
  meta.labels = { ...look(meta, 'labels'), [HASH_LABEL]: hashOf(set), [GENERATION_LABEL]: generation };
  const spec = child(pod, 'spec');
  const affinity = child(child(spec, 'affinity'), 'nodeAffinity');
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = items(required, 'nodeSelectorTerms');
  // The node is added to each of the template's own terms, since one of them has to be met.
  affinity.requiredDuringSchedulingIgnoredDuringExecution = {
    nodeSelectorTerms: terms.length === 0 ? [{ matchFields }] : terms.map((term) => ({ ...term, matchFields })),
  };
  spec.tolerations = tolerationsOf(spec);
  return pod;
}

/** The node that a daemon's pod is meant for, bound or not. */
export function targetOf(pod: ApiObject): string {
  const bound = nodeNameOf(pod);
  if (bound !== '') return bound;
  const required = look(pod, 'spec', 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
  for (const term of items(required, 'nodeSelectorTerms')) {
    for (const field of items(term, 'matchFields')) {
      const { values } = field;
      if (text(field, 'key') === 'metadata.name' && Array.isArray(values)) return String(values[0]);
    }
  }
  return '';
}

/** Whether a set's pod should be made on a node, and whether one that is there may stay. */
export interface Placement {
  readonly runs: boolean;
  readonly stays: boolean;
}

const NOWHERE: Placement = { runs: false, stays: false };

/** Whether a set wants a pod on a node (`NodeShouldRunDaemonPod`). */
export function placementOn(set: ApiObject, node: ApiObject): Placement {
  const template = look(set, 'spec', 'template', 'spec');
  const named = text(template, 'nodeName');
  if (named !== '' && named !== node.metadata.name) return NOWHERE;
  const tolerations = tolerationsOf(template);
  const pod: ApiObject = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { ...template, tolerations } };
  if (!isNamed(pod, node)) return NOWHERE;
  const untolerated = items(look(node, 'spec'), 'taints').filter(
    (taint) => !tolerations.some((toleration) => tolerates(toleration, taint)),
  );
  const runs = !untolerated.some(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
  return { runs, stays: !untolerated.some(({ effect }) => effect === 'NoExecute') };
}
