import { createOutageLog } from '../../base/outage-log.ts';
import { pause } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import type { KubeObject, ResourceDefinition } from '../../contract/objects.ts';
import type { InformerRuntime } from '../../informer/create-informer.ts';
import type { SourceKind } from './source-kinds.ts';

/** Interval between two attempts to find a kind. */
const RETRY_MS = 30_000;

interface Group {
  readonly versions?: readonly { readonly version: string }[];
}

interface Version {
  readonly resources?: readonly { readonly name: string }[];
}

/**
 * Finds the version in which the API server serves a kind of a CRD. The API server lists its preferred version first.
 * @throws KubeError if the API server does not serve the group, or Error if the group does not contain the kind
 */
export async function findServedKind<T extends KubeObject>(
  client: KubeClient,
  { group, plural, kind }: SourceKind,
  signal?: AbortSignal,
): Promise<ResourceDefinition<T>> {
  const options = signal === undefined ? {} : { signal };
  const { versions = [] } = await client.request<Group>('GET', `/apis/${group}`, options);
  for (const { version } of versions) {
    const { resources = [] } = await client.request<Version>('GET', `/apis/${group}/${version}`, options);
    if (resources.some(({ name }) => name === plural)) return { group, version, plural, kind, namespaced: true };
  }
  throw new Error(`the API group ${group} does not contain ${plural}; install the CRD`);
}

/** Finds the version of a kind as {@link findServedKind}, and waits until the CRD exists. */
export async function servedKind<T extends KubeObject>(
  client: KubeClient,
  wanted: SourceKind,
  { clock, log }: Pick<InformerRuntime, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<ResourceDefinition<T> | undefined> {
  const outage = createOutageLog(`the search for ${wanted.plural}.${wanted.group} in the control cluster`, clock, log);
  while (!signal.aborted) {
    try {
      const found = await findServedKind<T>(client, wanted, signal);
      outage.worked();
      return found;
    } catch (error) {
      if (!signal.aborted) outage.failed(error);
    }
    await pause(clock, RETRY_MS, signal);
  }
  return undefined;
}
