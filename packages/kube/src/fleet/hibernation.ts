import { type Clock, pause } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import { createInformer, type InformerRuntime } from '../informer/create-informer.ts';

/** The objects in the seed whose changes wake a hibernated cluster. */
interface WakingContent {
  readonly definition: ResourceDefinition<KubeObject>;
  /** Returns true if the object prevents the hibernation of its cluster. By default, no object prevents hibernation. */
  readonly busy?: (object: KubeObject) => boolean;
}

/** The objects of the seed on which the controllers of a program depend. */
export interface HibernationSettings {
  readonly content: readonly WakingContent[];
}

/** The interval at which mcm checks whether the controllers have work. */
const CHECK_MS = 60_000;
/**
 * Maximum duration of a hibernation. After this time, the controllers start again, and search for VMs without a
 * Machine.
 */
const LONGEST_MS = 12 * 3_600_000;

/** The hibernation of a cluster without work. */
export interface Sleep {
  /** Resolves when the cluster must be served again. The promise never rejects. */
  readonly woken: Promise<void>;
  /** Removes the finalizer from the Lease when the cluster leaves the fleet. No process holds the Lease. */
  readonly leave?: () => Promise<void>;
}

/** The reason why the controllers of the cluster end: the cluster has no machines and no work. */
export class Hibernated extends Error {
  override readonly name = 'Hibernated';
  readonly sleep: Sleep;

  constructor(sleep: Sleep) {
    super('the cluster has no machines and no work');
    this.sleep = sleep;
  }
}

export interface HibernationParts {
  readonly content: readonly WakingContent[];
  /** The hibernation starts after this time without work and machines, in milliseconds. */
  readonly afterMs: number;
  /** Returns true if the controllers have no work now. */
  readonly idle: () => boolean;
  /** A client of the seed. */
  readonly client: KubeClient;
  readonly namespace: string;
  readonly runtime: InformerRuntime;
}

/**
 * Waits until the cluster has had no work and no machines for the configured time. Returns undefined if `term` aborts
 * first.
 * @param awake Ends the hibernation when it aborts.
 */
export async function whenAsleep(
  parts: HibernationParts,
  term: AbortSignal,
  awake: AbortSignal,
): Promise<Hibernated | undefined> {
  const { clock } = parts.runtime;
  let idleSince = clock.monotonic();
  while (!term.aborted) {
    await pause(clock, CHECK_MS, term);
    if (!parts.idle()) idleSince = clock.monotonic();
    if (term.aborted || clock.monotonic() - idleSince < parts.afterMs) continue;
    const sleep = await fallAsleep(parts, term, awake);
    if (sleep !== undefined) return new Hibernated(sleep);
    idleSince = clock.monotonic();
  }
  return undefined;
}

/**
 * Opens the watches that wake the cluster. The watches open before the controllers end, so each change after the last
 * decision of the controllers wakes the cluster.
 */
async function fallAsleep(parts: HibernationParts, term: AbortSignal, awake: AbortSignal): Promise<Sleep | undefined> {
  const { client, namespace, runtime, content, idle } = parts;
  const over = new AbortController();
  const signal = AbortSignal.any([awake, over.signal]);
  const kinds = content.map(({ definition, busy }) => ({
    busy,
    informer: createInformer<KubeObject>(client, definition, { ...runtime, namespace }),
  }));
  const woken = watching(kinds, runtime.clock, signal, over);
  try {
    await Promise.all(kinds.map(({ informer }) => informer.whenSynced(AbortSignal.any([term, signal]))));
  } catch {
    over.abort(); // The controllers or the hibernation have ended before the first complete list.
    return undefined;
  }
  const isBusy = kinds.some(({ busy, informer }) => busy !== undefined && informer.store.list().some(busy));
  if (!isBusy && idle() && !over.signal.aborted) return { woken };
  over.abort();
  return undefined;
}

type Kind = { readonly informer: ReturnType<typeof createInformer<KubeObject>> };

/** Resolves at the first change of an object after the first complete list, or at the end of the hibernation. */
async function watching(
  kinds: readonly Kind[],
  clock: Clock,
  signal: AbortSignal,
  over: AbortController,
): Promise<void> {
  for (const { informer } of kinds)
    informer.onChange(() => {
      if (informer.synced) over.abort();
    });
  const longest = clock.setTimeout(() => over.abort(), LONGEST_MS);
  await Promise.all(kinds.map(({ informer }) => informer.run(signal)));
  longest.cancel();
}
