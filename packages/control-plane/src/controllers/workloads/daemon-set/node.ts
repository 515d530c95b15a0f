import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { copyJson } from '../../../apimachinery/objects/object-text.ts';
import { child, items, look, type Plain, strings, text } from '../../../apimachinery/objects/plain.ts';
import { nodeNameOf } from '../../objects/fields.ts';
import { isNamed, tolerates } from '../../scheduler/node-match.ts';
import { podOf } from '../pods.ts';

export const HASH_LABEL = 'controller-revision-hash';
const GENERATION_LABEL = 'pod-template-generation';
const GENERATION = 'deprecated.daemonset.template.generation';

/** The tolerations of every daemon pod. */
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

const isAlike = (one: Plain, other: Plain): boolean =>
  ['key', 'operator', 'effect', 'value'].every((field) => text(one, field) === text(other, field));

/** Returns the tolerations of a daemon pod. */
function tolerationsOf(spec: Plain): Plain[] {
  const all = spec.hostNetwork === true ? [...TOLERATIONS, NETWORK] : TOLERATIONS;
  const own = items(spec, 'tolerations').map((one) => all.find((daemons) => isAlike(one, daemons)) ?? one);
  return [...own, ...all.filter((daemons) => !own.includes(daemons))];
}

/** Returns the generation in the annotation of a DaemonSet. */
function generationOf(set: ApiObject): string | undefined {
  const value = set.metadata.annotations?.[GENERATION] ?? '';
  return /^[+-]?\d+$/.test(value) ? BigInt(value.replace('+', '')).toString() : undefined;
}

/** Returns whether a pod has the current template. */
export function isUpdated(set: ApiObject, hash: string, { metadata: { labels = {} } }: ApiObject): boolean {
  const generation = generationOf(set);
  return labels[HASH_LABEL] === hash || (generation !== undefined && labels[GENERATION_LABEL] === generation);
}

/**
 * Because of the node affinity, the scheduler binds the daemon pod to the chosen node.
 * @param hash the hash of the pod template
 */
export function daemonPod(set: ApiObject, hash: string, node: string): Plain {
  const pod = copyJson(podOf(set, look(set, 'spec', 'template')));
  const meta = child(pod, 'metadata');
  const generation = generationOf(set);
  const labels = { ...look(meta, 'labels'), [HASH_LABEL]: hash };
  meta.labels = generation === undefined ? labels : { ...labels, [GENERATION_LABEL]: generation };
  const spec = child(pod, 'spec');
  const affinity = child(child(spec, 'affinity'), 'nodeAffinity');
  // The affinity for the node replaces the node affinity of the template, which the DaemonSet controller has already
  // checked.
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  affinity.requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms: [{ matchFields }] };
  spec.tolerations = tolerationsOf(spec);
  return pod;
}

/** Returns the target node of a daemon pod, even if the pod is not bound to the node yet. */
export function targetOf(pod: ApiObject): string | undefined {
  const bound = nodeNameOf(pod);
  if (bound !== '') return bound;
  const required = look(pod, 'spec', 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
  const named = items(required, 'nodeSelectorTerms')
    .flatMap((term) => items(term, 'matchFields'))
    .find((field) => text(field, 'key') === 'metadata.name' && text(field, 'operator') === 'In');
  const names = strings(named, 'values');
  return names.length === 1 ? names[0] : undefined;
}

export interface Placement {
  readonly runs: boolean;
  readonly stays: boolean;
}

const NOWHERE: Placement = { runs: false, stays: false };

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
