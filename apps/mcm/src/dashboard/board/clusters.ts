import type { ClusterRow } from '@mcm/dashboard';
import {
  CLUSTER_API_CLUSTERS,
  CLUSTER_PROFILES,
  type ClusterApiCluster,
  findServedKind,
  type KubeClient,
  type KubeObject,
  namespaces,
  type ResourceDefinition,
} from '@mcm/kube';
import { clusterState } from '../../members/members.ts';
import type { FleetSource } from '../../members/source.ts';
import { brieflyVisible } from '../rows/text.ts';

/** The objects that define the clusters of a fleet, and the rows of the clusters. */
export interface ClusterSource {
  readonly definition: ResourceDefinition<KubeObject>;
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
  /** Returns the name by which the fleet knows the cluster of an object. */
  readonly clusterOf: (object: KubeObject) => string;
  readonly rowOf: (cluster: string, objects: readonly KubeObject[], unreachable: string) => ClusterRow | undefined;
}

const REGION = 'topology.kubernetes.io/region';

type Own = Pick<ClusterRow, 'object' | 'problem' | 'elsewhere'>;

const rowWith =
  (own: (objects: readonly KubeObject[]) => Own): ClusterSource['rowOf'] =>
  (key, objects, unreachable) => {
    const [object] = objects;
    if (object === undefined) return undefined;
    const { labels, deletionTimestamp } = object.metadata;
    return {
      key,
      region: brieflyVisible(labels?.[REGION] ?? ''),
      deleting: deletionTimestamp !== undefined,
      unreachable: brieflyVisible(unreachable),
      ...own(objects),
    };
  };

const nameOf = ({ metadata }: KubeObject): string => metadata.name;
const nothing = (): Own => ({ object: '', problem: '', elsewhere: false });

/** The source for a dashboard without a fleet, which reads no objects. */
export const NO_CLUSTERS: ClusterSource = {
  definition: namespaces,
  namespace: undefined,
  labelSelector: undefined,
  clusterOf: nameOf,
  rowOf: rowWith(nothing),
};

function ofClusterApi(clusters: readonly ClusterApiCluster[]): Own {
  const { object = '', problem } = clusterState(clusters, undefined);
  const sentence = problem === '' ? '' : `${problem[0]?.toUpperCase()}${problem.slice(1)}.`;
  return { object: brieflyVisible(object), problem: brieflyVisible(sentence), elsewhere: false };
}

/** Finds the kind of the objects that define the clusters. */
export async function clusterSource(
  client: KubeClient,
  source: FleetSource | undefined,
  home: string,
  signal: AbortSignal,
): Promise<ClusterSource | undefined> {
  if (source === undefined) return undefined;
  const { flag, selector: labelSelector } = source;
  if (flag === 'fleet-namespaces') return { ...NO_CLUSTERS, labelSelector };
  if (flag === 'fleet-clusters')
    return {
      definition: await findServedKind(client, CLUSTER_API_CLUSTERS, signal),
      namespace: undefined,
      labelSelector,
      clusterOf: ({ metadata }) => metadata.namespace ?? '',
      rowOf: rowWith(ofClusterApi),
    };
  return {
    definition: await findServedKind(client, CLUSTER_PROFILES, signal),
    namespace: home,
    labelSelector,
    clusterOf: nameOf,
    rowOf: rowWith(() => ({ object: '', problem: '', elsewhere: true })),
  };
}
