import { createOutageLog } from '../../base/outage-log.ts';
import { pause } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import type { KubeObject, ResourceDefinition } from '../../contract/objects.ts';
import type { InformerRuntime } from '../../informer/create-informer.ts';

/** Interval between two attempts to find a kind. */
const RETRY_MS = 30_000;

interface Group {
  readonly versions?: readonly { readonly version: string }[];
}

interface Version {
  readonly resources?: readonly { readonly name: string }[];
}

/**
 * Finds the version in which the API server serves a kind of a CRD, and waits until the CRD exists. The API server lists
 * its preferred version first. The result is undefined if the signal aborts.
 */
export async function servedKind<T extends KubeObject>(
  client: KubeClient,
  { group, plural, kind }: Pick<ResourceDefinition<T>, 'group' | 'plural' | 'kind'>,
  { clock, log }: Pick<InformerRuntime, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<ResourceDefinition<T> | undefined> {
  const outage = createOutageLog(`the search for ${plural}.${group} in the control cluster`, clock, log);
  while (!signal.aborted) {
    try {
      const { versions = [] } = await client.request<Group>('GET', `/apis/${group}`, { signal });
      for (const { version } of versions) {
        const { resources = [] } = await client.request<Version>('GET', `/apis/${group}/${version}`, { signal });
        if (!resources.some(({ name }) => name === plural)) continue;
        outage.worked();
        return { group, version, plural, kind, namespaced: true };
      }
      outage.failed(new Error(`the API group ${group} does not contain ${plural}; install the CRD`));
    } catch (error) {
      if (!signal.aborted) outage.failed(error);
    }
    await pause(clock, RETRY_MS, signal);
  }
  return undefined;
}
