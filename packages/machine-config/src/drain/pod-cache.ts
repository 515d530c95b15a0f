import { projectPod } from '@mcm/core';
import { createInformer, type Informer, type InformerRuntime, type KubeClient, type Pod, pods } from '@mcm/kube';

const NODE_INDEX = 'node';

/** Creates the cache of pods for drains, with an index by node. */
export const createPodCache = (target: KubeClient, runtime: InformerRuntime): Informer<Pod> =>
  createInformer<Pod>(target, pods, {
    ...runtime,
    project: projectPod,
    indexes: { [NODE_INDEX]: ({ spec }) => (spec.nodeName === undefined ? [] : [spec.nodeName]) },
  });

export const podsOfNode = (cache: Informer<Pod>, node: string): readonly Pod[] => cache.store.byIndex(NODE_INDEX, node);
