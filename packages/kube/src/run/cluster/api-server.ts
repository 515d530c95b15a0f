import { type BackoffOptions, backoffMs } from '../../base/backoff.ts';
import type { Random } from '../../base/random.ts';
import { badAnswer, noAnswer, tooLate } from '../../client/refusal.ts';
import { type Clock, pause } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import { isNotFound } from '../../contract/errors.ts';
import type { KubeObject, ResourceDefinition } from '../../contract/objects.ts';

const BACKOFF: BackoffOptions = { baseMs: 100, maxMs: 5000, jitter: 0.3 };
const ANSWER_MS = 10_000;

/** Options of `waitForApiServer`. */
export interface WaitOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly failed?: (error: unknown) => void;
}

/**
 * Resolves when the API server responds. `waitForApiServer` tries without a limit, and rejects with the reason of the
 * signal.
 */
export async function waitForApiServer(client: KubeClient, options: WaitOptions): Promise<void> {
  const { clock, random, signal, failed } = options;
  for (let failures = 1; ; failures++) {
    try {
      return await askVersion(client, clock, signal);
    } catch (error) {
      signal.throwIfAborted();
      failed?.(error);
    }
    await pause(clock, backoffMs(BACKOFF, failures, random), signal);
    signal.throwIfAborted();
  }
}

async function askVersion(client: KubeClient, clock: Clock, signal: AbortSignal): Promise<void> {
  const asked = { method: 'GET', path: '/version' };
  const limit = new AbortController();
  const timer = clock.setTimeout(() => limit.abort(noAnswer(asked, tooLate(ANSWER_MS))), ANSWER_MS);
  try {
    const version = await client.request<{ readonly gitVersion?: string } | null>('GET', asked.path, {
      signal: AbortSignal.any([signal, limit.signal]),
      onRetryAfter: 'throw',
    });
    if (typeof version?.gitVersion !== 'string') throw badAnswer(asked, 'contains no Kubernetes version');
  } finally {
    timer.cancel();
  }
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string }[];
}

/** Returns the resources of an API group, or an empty list if the API server does not serve the group. */
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
