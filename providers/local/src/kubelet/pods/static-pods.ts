import { type Change, type Draft, isAlreadyExists, type KubeClient, type Node, type Pod, pods } from '@mcm/kube';
import type { Life } from '../node/life.ts';
import type { StaticPod } from '../node/user-data.ts';
import { MIRROR_ANNOTATION } from './project-pod.ts';

export interface StaticPodsOptions {
  readonly client: KubeClient;
  readonly life: Life;
  readonly node: Node;
  readonly staticPods: readonly StaticPod[];
  readonly outage: { failed(error: unknown): void; worked(): void };
}

const RETRY_MS = 5_000;

/** Creates a mirror pod in the API server for each static pod. */
export class StaticPods {
  readonly #options: StaticPodsOptions;
  readonly #mirrors: ReadonlyMap<string, Draft<Pod>>;

  constructor(options: StaticPodsOptions) {
    this.#options = options;
    const drafts = options.staticPods.map((pod) => mirrorOf(pod, options.node));
    this.#mirrors = new Map(drafts.map((draft) => [`${draft.metadata.namespace}/${draft.metadata.name}`, draft]));
  }

  start(): void {
    for (const key of this.#mirrors.keys()) this.#create(key);
  }

  onChange(change: Change<Pod>): void {
    if (change.type === 'deleted') this.#create(change.key);
  }

  #create(key: string): void {
    const draft = this.#mirrors.get(key);
    if (!draft) return;
    const { client, life, outage } = this.#options;
    life.run(async () => {
      try {
        await client.resource(pods, draft.metadata.namespace).create(draft, { signal: life.signal });
        outage.worked();
      } catch (error) {
        if (isAlreadyExists(error)) return;
        if (!life.over) outage.failed(error);
        life.after(RETRY_MS, () => this.#create(key));
      }
    });
  }
}

function mirrorOf({ name, namespace = 'kube-system', image = 'static:1' }: StaticPod, node: Node): Draft<Pod> {
  const { name: nodeName, uid } = node.metadata;
  const hash = `${name}-${uid}`;
  return {
    metadata: {
      name: `${name}-${nodeName}`,
      namespace,
      annotations: {
        [MIRROR_ANNOTATION]: hash,
        'kubernetes.io/config.hash': hash,
        'kubernetes.io/config.source': 'file',
      },
      // The owner reference is necessary, because the admission plugin NodeRestriction refuses a mirror pod without it.
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid, controller: true }],
    },
    spec: {
      nodeName,
      hostNetwork: true,
      enableServiceLinks: false,
      priorityClassName: 'system-node-critical',
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
      containers: [{ name, image }],
    },
  };
}
