import { type Clock, pause } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import { createInformer, type InformerRuntime } from '../informer/create-informer.ts';

interface WakingContent {
  readonly definition: ResourceDefinition<KubeObject>;
  readonly busy?: (object: KubeObject) => boolean;
}

export interface HibernationSettings {
  readonly content: readonly WakingContent[];
}

const CHECK_MS = 60_000;
/**
 * The maximum duration of a hibernation, after which the controllers start again and search for VMs without a Machine.
 */
const LONGEST_MS = 12 * 3_600_000;

export interface Sleep {
  readonly woken: Promise<void>;
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
  /** The hibernation starts after the cluster has had no work and no machines for this time, in milliseconds. */
  readonly afterMs: number;
  readonly idle: () => boolean;
  readonly client: KubeClient;
  readonly namespace: string;
  readonly runtime: InformerRuntime;
}

/** Waits until the cluster has had no work and no machines for the configured time. */
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
 * Opens the watches that wake the cluster. The watches open before the controllers end, so each change after their last
 * decision wakes the cluster.
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
