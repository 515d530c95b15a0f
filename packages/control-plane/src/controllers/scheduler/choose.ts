import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { isDying } from '../objects/fields.ts';
import { obstacle } from './fit.ts';
import { nodesNamed } from './node-match.ts';
import { crowded, final, type Refusal, unschedulableMessage } from './refusal.ts';
import type { Usage } from './resources.ts';
import { reachesVolumes } from './volumes.ts';

export type Decision = { readonly node: ApiObject } | { readonly why: string };

const TAKEN =
  'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod';

export interface VolumeChoice {
  /** Whether another pod uses a claim whose access mode allows only one pod. */
  readonly isTaken?: boolean;
  /** The preferred node: the node for which the volumes of the pod are prepared, or the nominated node of the pod. */
  readonly node?: string | undefined;
  readonly canBind?: (node: ApiObject) => boolean;
}

export function chooseNode(
  pod: ApiObject,
  nodes: Iterable<ApiObject>,
  volumes: readonly ApiObject[],
  usage: Usage,
  namespaceLabels: (namespace: string) => Readonly<Record<string, string>> = () => ({}),
  { node: preferred, canBind = () => true, isTaken = false }: VolumeChoice = {},
): Decision {
  const known = [...nodes].filter((node) => !isDying(node));
  const beside = usage.neighbours.checkFor(pod, known, namespaceLabels);
  const named = nodesNamed(pod);
  const refusals: Refusal[] = [];
  let best: ApiObject | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const node of known) {
    const { name = '' } = node.metadata;
    const refusal =
      (named?.has(name) === false ? final("node(s) didn't satisfy plugin(s) [NodeAffinity]") : undefined) ??
      obstacle(pod, node, usage) ??
      (isTaken ? crowded(TAKEN) : undefined) ??
      (reachesVolumes(volumes, node) ? undefined : final("node(s) didn't match PersistentVolume's node affinity")) ??
      (canBind(node) ? undefined : final("node(s) didn't find available persistent volumes to bind")) ??
      beside(node);
    if (refusal !== undefined) {
      refusals.push(refusal);
      continue;
    }
    const pods = name === preferred ? -1 : usage.used(name, 'pods');
    if (pods < fewest) {
      fewest = pods;
      best = node;
    }
  }
  return best === undefined ? { why: unschedulableMessage(pod, refusals) } : { node: best };
}
