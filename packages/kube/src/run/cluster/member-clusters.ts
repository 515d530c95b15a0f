import { userAgent } from '../../client/create-client.ts';
import { type ClusterConfig, ConfigError } from '../../credentials/cluster-config.ts';
import { mustNotHaveExpired } from '../../credentials/key-pair.ts';
import { kubeconfigOfText, loadKubeconfig } from '../../credentials/load-kubeconfig.ts';
import { ClusterIdentity, identifiedTransport } from '../../fleet/identity.ts';
import type { Member } from '../../fleet/member.ts';
import { LeaseAnnotations } from '../../types/lease-annotations.ts';
import { type ClientSettings, type Clusters, type Connections, clusterOf, openConnections } from './clusters.ts';

export interface MemberClusters extends Clusters {
  readonly namespace: string;
  readonly identity: ClusterIdentity;
}

export interface MemberSettings extends ClientSettings {
  readonly seed: Connections | undefined;
  readonly leaseName: string;
}

const DEFAULT_NAMESPACE = 'default';

/**
 * Connects to the clusters of a fleet member, with separate credentials for each member.
 * @throws ConfigError if the kubeconfig is invalid or has expired
 */
export async function connectMember(member: Member, settings: MemberSettings): Promise<MemberClusters> {
  const { seed, dial, binary, version, clock, leaseName } = settings;
  const config = await configOf(member, settings);
  const namespace = member.namespace ?? config.namespace ?? DEFAULT_NAMESPACE;
  const target = openConnections(config, { source: member.source, shown: member.source, dial });
  const identity = new ClusterIdentity(target.transport, {
    userAgent: userAgent(binary, version, 'identity'),
    clock,
    source: member.source,
    fix:
      seed === undefined
        ? forgotten(member)
        : `delete the annotation ${LeaseAnnotations.TargetClusterUid} of Lease ${namespace}/${leaseName}`,
  });
  const checked: Connections = {
    ...target,
    transport: identifiedTransport(target.transport, identity),
    urgent: identifiedTransport(target.urgent, identity),
  };
  return {
    namespace,
    identity,
    same: seed === undefined,
    control: clusterOf('control', seed ?? checked, settings),
    target: clusterOf('target', checked, settings),
    close: () => target.close(),
  };
}

function forgotten({ name, source, folder }: Member): string {
  const wait = `wait until the fleet no longer lists ${name}`;
  return folder === undefined
    ? `remove the selected labels of ClusterProfile ${name}, ${wait}, and add the labels again`
    : `remove ${source}, ${wait}, and add the file again`;
}

async function configOf(
  { kubeconfig, source, folder }: Member,
  { clock, env, log, warnings }: MemberSettings,
): Promise<ClusterConfig> {
  const config =
    folder === undefined
      ? await kubeconfigOfText(kubeconfig, { source, clock })
      : await loadKubeconfig(source, {
          clock,
          env,
          onFiles: (news) => {
            if (news.kind === 'unusable') warnings.raise('credentials', 'target', `${source}: ${news.sentence}`);
            else warnings.clear('credentials', 'target');
            if (news.kind === 'renewed') log.info('Using the renewed credentials of a cluster', { source });
          },
        });
  const text = config.clientCertificate?.certificate;
  if (text !== undefined)
    mustNotHaveExpired(
      { text, from: config.from?.clientCertificate ?? `the client certificate of ${source}` },
      clock.now(),
    );
  if (config.insecureSkipTlsVerify === true)
    throw new ConfigError(
      `${source}: insecure-skip-tls-verify is not allowed in a fleet; set certificate-authority-data`,
    );
  return config;
}
