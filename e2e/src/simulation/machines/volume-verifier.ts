import type { Clock, Pod } from '@mcm/kube';
import type { ApiCache } from './api-cache.ts';

/**
 * The verifier counts a moving volume for a shorter time than the controller's detach timeout, because the clocks may
 * differ.
 */
const COUNTED_MS = 110_000;

interface Move {
  readonly pod: Pod;
  readonly volumes: readonly string[];
  goneAt: number | undefined;
  countsUntil: number;
}

export interface VolumeVerifierOptions {
  readonly clock: Clock;
  readonly cache: ApiCache;
  readonly limit: number;
  readonly violate: (text: string) => void;
  /** Returns true if the limit applies to the drain of a Node. */
  readonly isLimited: (node: string) => boolean;
  readonly lagMs: () => number;
}

/** Verifies that all drains of a process together do not exceed the limit for moving volumes. */
export class VolumeVerifier {
  readonly #o: VolumeVerifierOptions;
  readonly #moves = new Map<string, Move>();
  readonly #attachedAt = new Map<string, number>();
  #verified = 0;

  constructor(options: VolumeVerifierOptions) {
    this.#o = options;
    options.cache.pods.onChange(({ type, object: { metadata } }) => {
      const move = this.#moves.get(metadata.uid);
      if (!move) return;
      // A later deletion without a grace period changes `deletionTimestamp`, so only its first value counts.
      if (metadata.deletionTimestamp && move.countsUntil === Number.POSITIVE_INFINITY)
        move.countsUntil = new Date(metadata.deletionTimestamp).getTime() + COUNTED_MS;
      if (type === 'deleted') move.goneAt ??= this.#now();
    });
    options.cache.attachments.onChange(({ type, object: { metadata } }) => {
      if (type === 'added') this.#attachedAt.set(metadata.uid, this.#now());
      if (type === 'deleted') this.#attachedAt.delete(metadata.uid);
    });
  }

  get verified(): number {
    return this.#verified;
  }

  #now(): number {
    return this.#o.clock.now().getTime();
  }

  evicted(pod: Pod): void {
    const { cache, limit, violate, isLimited, lagMs } = this.#o;
    const { uid, name } = pod.metadata;
    const node = pod.spec.nodeName ?? '';
    const knownAt = this.#now() - lagMs();
    // Volumes that are not attached to the node do not count for the limit.
    const volumes = cache.volumesOf(pod).filter((volume) => this.#attachments(volume, node).some((at) => at < knownAt));
    if (volumes.length === 0 || this.#moves.has(uid) || !isLimited(node)) return;
    const others = [...this.#moves.values()].filter((move) => this.#isMoving(move));
    const moving = others.reduce((sum, move) => sum + move.volumes.length, 0);
    this.#moves.set(uid, { pod, volumes, goneAt: undefined, countsUntil: Number.POSITIVE_INFINITY });
    if (moving === 0) return;
    this.#verified++;
    if (moving + volumes.length > limit)
      violate(`mcm evicts pod ${name} from ${node} while ${moving} volumes move, but the limit is ${limit}`);
  }

  #isMoving({ pod, volumes, goneAt, countsUntil }: Move): boolean {
    const { cache, lagMs } = this.#o;
    if (goneAt !== undefined && this.#now() >= goneAt + COUNTED_MS) return false;
    if (goneAt === undefined) {
      const known = cache.pods.store.get(`${pod.metadata.namespace}/${pod.metadata.name}`);
      const dueAt = new Date(known?.metadata.deletionTimestamp ?? Number.NaN).getTime();
      return known?.metadata.uid === pod.metadata.uid && this.#now() < dueAt + COUNTED_MS;
    }
    // If the volumes of a pod stopped counting before the pod ended, they count again when the controller notices the
    // end.
    if (goneAt > countsUntil && this.#now() - goneAt <= lagMs()) return false;
    return volumes.some((volume) => this.#attachments(volume, pod.spec.nodeName ?? '').length > 0);
  }

  #attachments(volume: string, node: string): readonly number[] {
    return this.#o.cache.attachments.store
      .byIndex('volume', volume)
      .flatMap(({ spec, metadata }) => (spec.nodeName === node ? (this.#attachedAt.get(metadata.uid) ?? []) : []));
  }
}
