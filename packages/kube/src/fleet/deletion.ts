import { errorText } from '../base/error-text.ts';
import { pause } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import { isForbidden } from '../contract/errors.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import { createInformer, type InformerRuntime } from '../informer/create-informer.ts';

const RETRY_MS = 5_000;

interface NamespaceContent {
  readonly definition: ResourceDefinition<KubeObject>;
  readonly finalizer?: string;
}

export interface DeletionSettings {
  /**
   * The finalizer that keeps the Lease and the kubeconfig Secret until the machines of a deleted namespace are gone.
   */
  readonly finalizer: string;
  readonly content: readonly NamespaceContent[];
}

export class NamespaceEmpty extends Error {
  override readonly name = 'NamespaceEmpty';
}

/** The error if a client has deleted a Lease in a namespace that is being deleted. */
export class LeaseDeleted extends Error {
  override readonly name = 'LeaseDeleted';
}

export const refusesNewObjects = (error: unknown): boolean =>
  isForbidden(error) && (error.status.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating');

const counts = ({ finalizer }: NamespaceContent, { metadata }: KubeObject): boolean =>
  finalizer === undefined || (metadata.finalizers ?? []).includes(finalizer);

export interface ContentQuery {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly content: readonly NamespaceContent[];
}

/** Returns true if no object needs the controllers. */
export async function isEmpty({ client, namespace, content }: ContentQuery, signal: AbortSignal): Promise<boolean> {
  for (const kind of content) {
    const options = kind.finalizer === undefined ? { limit: 1, signal } : { signal };
    const { items } = await client.resource(kind.definition, namespace).list(options);
    if (items.some((item) => counts(kind, item))) return false;
  }
  return true;
}

/** Resolves to true as soon as no object needs the controllers, and to false if the signal aborts first. */
export async function whenEmpty(
  query: ContentQuery & { readonly runtime: InformerRuntime },
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, log } = query.runtime;
  while (!signal.aborted) {
    await looksEmpty(query, signal);
    try {
      // The cache of the API server may be outdated, so these lists read the newest state from etcd.
      if (!signal.aborted && (await isEmpty(query, signal))) return true;
    } catch (error) {
      const { namespace } = query;
      if (!signal.aborted) log.warn('Cannot list the objects of a namespace', { namespace, error: errorText(error) });
    }
    await pause(clock, RETRY_MS, signal);
  }
  return false;
}

async function looksEmpty(
  { client, namespace, content, runtime }: ContentQuery & { readonly runtime: InformerRuntime },
  signal: AbortSignal,
): Promise<void> {
  const empty = new AbortController();
  const both = AbortSignal.any([signal, empty.signal]);
  const kinds = content.map((kind) => ({
    kind,
    informer: createInformer<KubeObject>(client, kind.definition, {
      ...runtime,
      namespace,
      project: ({ apiVersion, kind: name, metadata }) => ({ apiVersion, kind: name, metadata }),
    }),
  }));
  const look = (): void => {
    const left = kinds.some(
      ({ kind, informer: { synced, store } }) =>
        !synced || (kind.finalizer === undefined ? store.size > 0 : store.list().some((item) => counts(kind, item))),
    );
    if (!left) empty.abort();
  };
  for (const { informer } of kinds) {
    informer.onChange(look);
    // The informer calls no handler if the first list is empty, so this code checks the caches after the first list.
    informer.whenSynced(both).then(look, () => undefined);
  }
  await Promise.all(kinds.map(({ informer }) => informer.run(both)));
}
