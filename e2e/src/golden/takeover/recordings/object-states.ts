import {
  type Clock,
  createInformer,
  type KubeClient,
  type KubeObject,
  type Logger,
  type ResourceDefinition,
  seededRandom,
} from '@mcm/kube';
import type { State } from './recording.ts';

export interface Version {
  readonly at: number;
  readonly object: KubeObject;
}

export interface ObjectStates {
  readonly kind: string;
  readonly uid: string;
  readonly versions: readonly Version[];
  readonly goneAt: number | undefined;
}

/** Returns all versions of each object in a recording. */
export function statesByObject(states: readonly State[]): readonly ObjectStates[] {
  const lives = new Map<string, { kind: string; versions: Version[]; goneAt: number | undefined }>();
  for (const { at, objects } of states) {
    const present = new Set<string>();
    for (const object of objects.values()) {
      const { uid } = object.metadata;
      present.add(uid);
      const life = lives.get(uid) ?? { kind: object.kind, versions: [], goneAt: undefined };
      lives.set(uid, life);
      if (life.versions.at(-1)?.object !== object) life.versions.push({ at, object });
    }
    for (const [uid, life] of lives) if (life.goneAt === undefined && !present.has(uid)) life.goneAt = at;
  }
  return [...lives].map(([uid, life]) => ({ uid, ...life }));
}

/** Returns the last version of each object, in the order in which the objects appeared. */
export const objectsIn = (lives: readonly ObjectStates[]): readonly KubeObject[] =>
  lives.flatMap(({ versions }) => versions.at(-1)?.object ?? []);

/** Returns the object that is compared. */
export type Lens = (object: KubeObject) => KubeObject | undefined;
export const PLAIN: Lens = (object) => object;

/** Records each version of each object, as the API server stores it. */
export class Observer {
  readonly #lives = new Map<string, { kind: string; versions: Version[]; goneAt: number | undefined }>();
  readonly #seconds: () => number;
  readonly #lens: Lens;

  constructor(seconds: () => number, lens: Lens) {
    this.#seconds = seconds;
    this.#lens = lens;
  }

  /** Watches the objects of a kind until the signal is aborted. */
  async watch(client: KubeClient, kind: ResourceDefinition<KubeObject>, options: WatchTools): Promise<void> {
    const { clock, log, signal } = options;
    const informer = createInformer(client, kind, { clock, log, random: seededRandom(0) });
    informer.onChange(({ type, object: stored }) => {
      const object = this.#lens({ ...stored, kind: kind.kind });
      if (!object) return;
      const { uid } = object.metadata;
      const life = this.#lives.get(uid) ?? { kind: kind.kind, versions: [], goneAt: undefined };
      this.#lives.set(uid, life);
      if (type === 'deleted') life.goneAt = this.#seconds();
      else life.versions.push({ at: this.#seconds(), object });
    });
    await informer.run(signal);
  }

  get lives(): readonly ObjectStates[] {
    return [...this.#lives].map(([uid, life]) => ({ uid, ...life }));
  }
}

interface WatchTools {
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}
