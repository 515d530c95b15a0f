import { type ConfigMap, configMaps, type KubeClient } from '@mcm/kube';
import { EvidenceLabels, labelOf } from '../driver/contract/bundle.ts';

/** The stored evidence of a failure. */
export interface KeptEvidence {
  readonly configMap: string;
  readonly machine: string;
  readonly providerID: string;
  readonly failedAt: string;
  readonly failure: string;
  readonly conditions: string;
  readonly cloud?: string | undefined;
  readonly console?: string | undefined;
  readonly missing?: string | undefined;
}

/** Returns the evidence of a machine, newest first; the machine may be deleted already. */
export async function readEvidence(
  client: KubeClient,
  namespace: string,
  machineName: string,
): Promise<readonly KeptEvidence[]> {
  const labelSelector = `${EvidenceLabels.Machine}=${labelOf(machineName)}`;
  const { items } = await client.resource<ConfigMap>(configMaps, namespace).list({ labelSelector });
  return items
    .map(parse)
    .filter(({ machine }) => machine === machineName)
    .sort((a, b) => (a.failedAt < b.failedAt ? 1 : -1));
}

function parse({ metadata, data = {} }: ConfigMap): KeptEvidence {
  const { machine = '', providerID = '', failedAt = '', failure = '', conditions = '', cloud, console, missing } = data;
  return {
    configMap: metadata.name,
    machine,
    providerID,
    failedAt,
    failure,
    conditions,
    cloud,
    console,
    missing,
  };
}
