import type { ApiServer } from '../harness/api-server.ts';

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

interface Node {
  readonly metadata: Metadata;
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
}

interface Pod {
  readonly metadata: Metadata;
  readonly spec: {
    readonly nodeName?: string;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly tolerations?: readonly Toleration[];
    readonly affinity?: {
      readonly nodeAffinity?: {
        readonly requiredDuringSchedulingIgnoredDuringExecution?: {
          readonly nodeSelectorTerms: readonly {
            readonly matchFields?: readonly { readonly key: string; readonly values: readonly string[] }[];
          }[];
        };
      };
    };
  };
}

const isTolerated = (taint: Taint, tolerations: readonly Toleration[]): boolean =>
  tolerations.some(
    ({ key, operator = 'Equal', value = '', effect }) =>
      (key === undefined || key === taint.key) &&
      (effect === undefined || effect === taint.effect) &&
      (operator === 'Exists' || value === (taint.value ?? '')),
  );

/** Returns the nodes that a pod of a DaemonSet requires. */
const meant = ({ spec }: Pod): readonly string[] | undefined =>
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
    .flatMap(({ matchFields = [] }) => matchFields)
    .flatMap(({ key, values }) => (key === 'metadata.name' ? values : []));

const fits = (pod: Pod, { metadata, spec = {} }: Node): boolean => {
  const tolerations = pod.spec.tolerations ?? [];
  const cordoned: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  const taints = (spec.taints ?? []).filter(({ effect }) => effect !== 'PreferNoSchedule');
  const against = spec.unschedulable === true ? [...taints, cordoned] : taints;
  const { nodeSelector = {} } = pod.spec;
  if (Object.entries(nodeSelector).some(([key, value]) => metadata.labels?.[key] !== value)) return false;
  return (meant(pod)?.includes(metadata.name) ?? true) && against.every((taint) => isTolerated(taint, tolerations));
};

export async function playScheduler(server: Pick<ApiServer, 'fetch'>, signal: AbortSignal): Promise<void> {
  const list = async <T>(path: string): Promise<readonly T[]> => {
    const answer = await server.fetch(new Request(`https://server${path}`, { signal }));
    return ((await answer.json()) as { readonly items: readonly T[] }).items;
  };
  const create = async (path: string, object: object): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(object);
    await (await server.fetch(new Request(`https://server${path}`, { method: 'POST', headers, body }))).text();
  };
  let turn = 0;
  const place = async (): Promise<void> => {
    const waiting = (await list<Pod>('/api/v1/pods?fieldSelector=spec.nodeName%3D')).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
    const nodes = waiting.length > 0 ? await list<Node>('/api/v1/nodes') : [];
    for (const pod of waiting) {
      const fitting = nodes.filter((node) => fits(pod, node));
      const node = fitting[turn++ % Math.max(1, fitting.length)];
      if (node === undefined) continue;
      const { name, namespace } = pod.metadata;
      const target = { apiVersion: 'v1', kind: 'Node', name: node.metadata.name };
      await create(`/api/v1/namespaces/${namespace}/pods/${name}/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name },
        target,
      });
      await create(`/api/v1/namespaces/${namespace}/events`, {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { generateName: `${name}.` },
        involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace },
        type: 'Normal',
        reason: 'Scheduled',
        message: `Successfully assigned ${namespace}/${name} to ${node.metadata.name}`,
      });
    }
  };
  /** After each change of a pod or node, all pending pods are checked. */
  let again = false;
  let placing = false;
  const changed = async (): Promise<void> => {
    again = true;
    if (placing) return;
    placing = true;
    try {
      while (again) {
        again = false;
        await place();
      }
    } finally {
      placing = false;
    }
  };
  const watch = async (path: string): Promise<void> => {
    const answer = await server.fetch(new Request(`https://server${path}?watch=true`, { signal }));
    for await (const _ of answer.body ?? []) await changed();
  };
  try {
    await Promise.all([watch('/api/v1/pods'), watch('/api/v1/nodes')]);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
