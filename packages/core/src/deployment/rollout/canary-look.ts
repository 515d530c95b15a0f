import { Annotations, Labels, type Machine } from '@mcm/api';
import { errorText, pods } from '@mcm/kube';
import type { NodeAccess } from '../../control/caches.ts';
import { inParallel } from '../../flow/slow-start.ts';
import { isAvailable } from '../../objects/machines.ts';
import { type CanaryPods, mustSeePods, type UnreadyCanary, unreadyPods } from '../../rollout/canary-pods.ts';
import { type DeploymentSnapshot, gateInputOf, viewOf } from '../state/view.ts';

const PARALLEL = 8;

/**
 * Reads the pods of the canaries from the API server once after the soak time. The manager has no cache of pods,
 * because a cache would grow with the fleet.
 * @returns undefined if the rollout does not check pods now
 */
export async function lookAtCanaries(
  snapshot: DeploymentSnapshot,
  nodes: NodeAccess | undefined,
  signal: AbortSignal,
): Promise<CanaryPods | undefined> {
  const { deployment, now } = snapshot;
  if (deployment.metadata.annotations?.[Annotations.RolloutCanaryPodsReady] !== 'true') return undefined;
  if (deployment.spec.paused === true) return undefined;
  const view = viewOf(snapshot);
  const input = gateInputOf(view);
  if (!mustSeePods(input)) return undefined;
  if (nodes === undefined) return { canaries: [], unseen: 'the manager has no connection to the target cluster' };
  const resource = nodes.client.resource(pods);
  const canaries: UnreadyCanary[] = [];
  const read = async ({ metadata }: Machine): Promise<void> => {
    const node = metadata.labels?.[Labels.Node];
    if (!node) return;
    const { items } = await resource.list({ fieldSelector: `spec.nodeName=${node}`, signal });
    canaries.push({ uid: metadata.uid, pods: unreadyPods(items, view.rolloutSettings, now) });
  };
  const [failure] = await inParallel(input.machines.filter(isAvailable), PARALLEL, read);
  signal.throwIfAborted();
  return failure === undefined ? { canaries } : { canaries: [], unseen: errorText(failure) };
}
