import { type FleetSourceFlag, fleetSourceOf, holderSettings, isForbidden, type KubeClient } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { type Peer, peersIn } from './peers.ts';

/** The default label of the clusters in a fleet, as in the documentation and in the chart. */
const FLEET_LABEL = 'mcm-fleet';

/** How a fleet finds its clusters. */
export interface FleetSource {
  readonly flag: Exclude<FleetSourceFlag, 'fleet-folder'>;
  /** The label selector of the flag. */
  readonly selector: string;
  /** The name of the Secrets with the kubeconfigs. If the fleet uses the default name, `secret` is undefined. */
  readonly secret?: string;
}

/** The plural names of the objects that each flag selects, for messages. */
const OBJECTS: Readonly<Record<FleetSource['flag'], string>> = {
  'fleet-namespaces': 'namespace',
  'fleet-clusters': 'Cluster of Cluster API',
  'fleet-cluster-profiles': 'ClusterProfile',
};

/** Returns the message for a fleet without clusters. */
export const noClusterText = ({ flag, selector }: FleetSource): string =>
  `No ${OBJECTS[flag]} has the labels ${selector}`;

/**
 * Reads from the peer Leases in a namespace how the replicas find their clusters. If no peer Lease contains a flag, or
 * if the user may not list Leases, the result is undefined.
 */
export async function reportedSource(
  client: KubeClient,
  namespace: string,
  signal?: AbortSignal,
): Promise<FleetSource | undefined> {
  const peers = await peersIn(client, namespace, signal).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    return [];
  });
  return sourceOf(peers);
}

/**
 * Returns the source of the clusters: the flag and the labels in the peer Leases. If `selector` is set, it replaces the
 * labels in the peer Leases. If the peer Leases contain no flag, as in older versions, the source is the labelled
 * namespaces.
 * @throws UserError if the clusters are files in the pods of the replicas
 */
export async function readSource(
  client: KubeClient,
  namespace: string,
  selector?: string,
  signal?: AbortSignal,
): Promise<FleetSource> {
  const reported = await reportedSource(client, namespace, signal);
  return {
    flag: reported?.flag ?? 'fleet-namespaces',
    selector: selector ?? reported?.selector ?? FLEET_LABEL,
  };
}

function sourceOf(peers: readonly Peer[]): FleetSource | undefined {
  const renewedMs = ({ lease }: Peer): number => Date.parse(lease.spec?.renewTime ?? '') || 0;
  for (const { lease } of peers.toSorted((a, b) => renewedMs(b) - renewedMs(a))) {
    const settings = holderSettings(lease) ?? {};
    for (const [flag, value] of Object.entries(fleetSourceOf(settings))) {
      if (flag === 'fleet-folder')
        throw new UserError(
          `the fleet reads its clusters from the folder ${value} of its pods; select one cluster with --kubeconfig`,
        );
      const { 'fleet-secret': secret } = settings;
      const source = { flag: flag as FleetSource['flag'], selector: value };
      return typeof secret === 'string' ? { ...source, secret } : source;
    }
  }
  return undefined;
}
