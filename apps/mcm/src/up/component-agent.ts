import { Taints } from '@mcm/api';
import {
  type Clock,
  createController,
  createInformer,
  done,
  isReady,
  type KubeClient,
  type Logger,
  type Node,
  nodes,
  type Random,
} from '@mcm/kube';

const { key, effect } = Taints.CriticalComponentsNotReady;

/**
 * Simulates the agent that removes the taint for critical components from Ready Nodes. With the taint of the agent, a
 * Node would never run pods, and its machine would stay Pending.
 *
 * @returns A promise that resolves when the signal is aborted
 */
export async function runComponentAgent(
  client: KubeClient,
  options: { readonly clock: Clock; readonly random: Random; readonly log: Logger; readonly signal: AbortSignal },
): Promise<void> {
  const { signal, ...runtime } = options;
  const informer = createInformer<Node>(client, nodes, runtime);
  const agent = createController({
    ...runtime,
    name: 'component-agent',
    concurrency: 2,
    reconcile: async (name) => {
      const node = informer.store.get(name);
      const taints = node?.spec.taints ?? [];
      const others = taints.filter((taint) => taint.key !== key || taint.effect !== effect);
      if (!node || others.length === taints.length || !isReady(node)) return done;
      const body = [
        { op: 'test', path: '/metadata/uid', value: node.metadata.uid },
        { op: 'test', path: '/spec/taints', value: taints },
        others.length > 0
          ? { op: 'replace', path: '/spec/taints', value: others }
          : { op: 'remove', path: '/spec/taints' },
      ];
      informer.recordWrite(await client.resource<Node>(nodes).patch(name, { type: 'json', body }));
      return done;
    },
  });
  agent.watch(informer, (change) => [change.key]);
  await Promise.all([informer.run(signal), agent.run(signal)]);
}
