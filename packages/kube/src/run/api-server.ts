import { type BackoffOptions, backoffMs } from '../backoff.ts';
import type { KubeClient } from '../client.ts';
import { type Clock, pause } from '../clock.ts';
import { errorText } from '../error-text.ts';
import { isNotFound } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { KubeObject, ResourceDefinition } from '../objects.ts';
import { createOutageLog } from '../outage-log.ts';
import type { Random } from '../random.ts';

const BACKOFF: BackoffOptions = { baseMs: 100, maxMs: 5000, jitter: 0.3 };

/** How an API server is waited for. */
export interface WaitOptions {
  /** For the log: `control`, `target`. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly report?: (detail: string) => void;
}

/** Resolves when the server answers; never gives up. Rejects with the signal's reason. */
export async function waitForApiServer(client: KubeClient, options: WaitOptions): Promise<void> {
  const { name, clock, random, log, signal, report } = options;
  const outage = createOutageLog(`reaching the ${name} API server`, clock, log);
  for (;;) {
    try {
      await client.request('GET', '/version', { signal, onRetryAfter: 'throw' });
      outage.worked();
      return;
    } catch (error) {
      signal.throwIfAborted();
      outage.failed(error);
      report?.(errorText(error));
    }
    await pause(clock, backoffMs(BACKOFF, outage.failures, random), signal);
    signal.throwIfAborted();
  }
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string }[];
}

/** The plural names that the server has in a group and version; empty when it has none such. */
export async function discoverResources(
  client: KubeClient,
  definition: Pick<ResourceDefinition<KubeObject>, 'group' | 'version'>,
  signal?: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { group, version } = definition;
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  try {
    const list = await client.request<ResourceList>('GET', path, signal === undefined ? {} : { signal });
    return new Set((list.resources ?? []).map((resource) => resource.name));
  } catch (error) {
    if (isNotFound(error)) return new Set();
    throw error;
  }
}
