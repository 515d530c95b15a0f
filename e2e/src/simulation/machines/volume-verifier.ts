import type { Clock, Pod } from '@mcm/kube';
import type { ApiCache } from './api-cache.ts';

/** A volume counts as moving for less time than the detach timeout of the controller, because its clock may differ. */
const COUNTED_MS = 110_000;

interface Move {
  readonly pod: Pod;
  readonly volumes: readonly string[];
  goneAt: number | undefined;
  /** The time until which a pod without an end counts. */
  countsUntil: number;
}

export interface VolumeVerifierOptions {
  readonly clock: Clock;
  readonly cache: ApiCache;
  /** The maximum number of volumes that the process moves at the same time. */
  readonly limit: number;
  readonly violate: (text: string) => void;
  /** Whether the limit applies to the drain of a Node. The limit does not apply to drains of lost Machines. */
  readonly isLimited: (node: string) => boolean;
  /** The maximum age of the controller's cached attachments, in milliseconds. */
  readonly lagMs: () => number;
}

/**
 * Verifies that the drains of one process together move at most as many volumes as their shared limit allows. A pod
 * with more volumes than the limit moves alone. A new process does not know which volumes its predecessor moved.
 */
export class VolumeVerifier {
  readonly #o: VolumeVerifierOptions;
  readonly #moves = new Map<string, Move>();
  /** The times at which attachments appeared, by UID. */
  readonly #attachedAt = new Map<string, number>();
  #verified = 0;

  constructor(options: VolumeVerifierOptions) {
    this.#o = options;
    options.cache.pods.onChange(({ type, object: { metadata } }) => {
      const move = this.#moves.get(metadata.uid);
      if (!move) return;
      // A removal without a grace period changes the time of the deletion, so only the first time counts.
      if (metadata.deletionTimestamp && move.countsUntil === Number.POSITIVE_INFINITY)
        move.countsUntil = new Date(metadata.deletionTimestamp).getTime() + COUNTED_MS;
      if (type === 'deleted') move.goneAt ??= this.#now();
    });
    options.cache.attachments.onChange(({ type, object: { metadata } }) => {
      if (type === 'added') this.#attachedAt.set(metadata.uid, this.#now());
      if (type === 'deleted') this.#attachedAt.delete(metadata.uid);
    });
  }

  /** The number of evictions that were verified while other volumes moved. */
  get verified(): number {
    return this.#verified;
  }

  #now(): number {
    return this.#o.clock.now().getTime();
  }

  /** Records the eviction of a pod by the process. */
  evicted(pod: Pod): void {
    const { cache, limit, violate, isLimited, lagMs } = this.#o;
    const { uid, name } = pod.metadata;
    const node = pod.spec.nodeName ?? '';
    const knownAt = this.#now() - lagMs();
    // The limit applies only to volumes that are attached to the node.
    const volumes = cache.volumesOf(pod).filter((volume) => this.#attachments(volume, node).some((at) => at < knownAt));
    if (volumes.length === 0 || this.#moves.has(uid) || !isLimited(node)) return;
    const others = [...this.#moves.values()].filter((move) => this.#isMoving(move));
    const moving = others.reduce((sum, move) => sum + move.volumes.length, 0);
    this.#moves.set(uid, { pod, volumes, goneAt: undefined, countsUntil: Number.POSITIVE_INFINITY });
    if (moving === 0) return;
    this.#verified++;
    if (moving + volumes.length > limit)
      violate(`pod ${name} leaves ${node} while ${moving} volumes move, and the limit is ${limit}`);
  }

  #isMoving({ pod, volumes, goneAt, countsUntil }: Move): boolean {
    const { cache, lagMs } = this.#o;
    if (goneAt !== undefined && this.#now() >= goneAt + COUNTED_MS) return false;
    if (goneAt === undefined) {
      const known = cache.pods.store.get(`${pod.metadata.namespace}/${pod.metadata.name}`);
      const dueAt = new Date(known?.metadata.deletionTimestamp ?? Number.NaN).getTime();
      return known?.metadata.uid === pod.metadata.uid && this.#now() < dueAt + COUNTED_MS;
    }
    // A pod that stopped counting before its end counts again as soon as the controller has seen its end.
    if (goneAt > countsUntil && this.#now() - goneAt <= lagMs()) return false;
    return volumes.some((volume) => this.#attachments(volume, pod.spec.nodeName ?? '').length > 0);
  }

  /** The times at which a volume was attached to a node. */
  #attachments(volume: string, node: string): readonly number[] {
    return this.#o.cache.attachments.store
      .byIndex('volume', volume)
      .flatMap(({ spec, metadata }) => (spec.nodeName === node ? (this.#attachedAt.get(metadata.uid) ?? []) : []));
  }
}
