import type { Clock, Timer } from '../clock/clock.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubeObject } from '../contract/objects.ts';
import type { Meters } from '../metrics/meters.ts';

/**
 * `wanted`: it would have been done. Then `same`: somebody did it. `gone`: the object went before. `different`: nobody did
 * it, for five minutes.
 */
export type Outcome = 'wanted' | 'same' | 'gone' | 'different';

/** Something that would be done. */
export interface Decision {
  /** Verb and resource, of few values: `patch machinesets/status`, `create vm`. */
  readonly what: string;
  /** Plural of what is changed by it, as it is watched. */
  readonly resource: string;
  /** The object, as `namespace/name`; what has no name yet has that of its owner. */
  readonly object: string;
  /** Whether it is seen in objects of other names: what has none yet. */
  readonly unnamed?: boolean;
  /** The same for the same decision made again. */
  readonly content: string;
  /** Whether an object that was just seen shows that it was done. */
  done(object: KubeObject, deleted: boolean): boolean;
  /** Fields of the object, as it was just seen, that are otherwise. */
  readonly lacks?: (object: KubeObject) => readonly string[];
}

/** How long the controller that runs may take for the same. */
const PATIENCE_MS = 5 * 60_000;

interface Waiting {
  readonly decision: Decision;
  readonly since: number;
  readonly timer: Timer;
  /** Who continues once somebody did it. */
  readonly followers: Set<Follower>;
  /** Fields that were otherwise when the object was last seen. */
  lacks?: readonly string[];
  /** It was told that nobody did it in time. */
  overdue?: true;
}

interface Follower {
  readonly resolve: (object: KubeObject) => void;
  readonly reject: (reason: unknown) => void;
}

const WORDS: Readonly<Record<Exclude<Outcome, 'wanted'>, string>> = {
  same: 'The running controller did the same',
  gone: 'The object went before the running controller did the same',
  different: 'The running controller did not do the same',
};

/** Remembers what would be done, and compares it with what is done by others. */
export class ObserveLedger {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #count: (labels: { readonly what: string; readonly outcome: Outcome }) => void;
  /**
   * By resource and object, then by what would be done; a decision that is made again takes the place of the last. One that
   * nobody made in time stays, so that it is not told again, until somebody does or the object goes.
   */
  readonly #waiting = new Map<string, Map<string, Waiting>>();
  /** Of those, by resource, what an object of any name may show. */
  readonly #unnamed = new Map<string, Set<Waiting>>();

  constructor({ clock, log, meters }: { readonly clock: Clock; readonly log: Logger; readonly meters: Meters }) {
    this.#clock = clock;
    this.#log = log;
    const count = meters.counter({
      name: 'mcm_observe_decisions_total',
      help: 'What would have been done with --observe-only, and whether somebody else did the same within five minutes',
      labels: ['what', 'outcome'],
    });
    this.#count = (labels) => count({ ...labels });
  }

  /** Takes note of a decision; one that is known already is not told twice. */
  want(decision: Decision): void {
    this.#note(decision);
  }

  #note(decision: Decision): Waiting {
    const { what, resource, object, content } = decision;
    const ofObject = this.#ofObject(resource, object);
    const before = ofObject.get(what);
    if (before?.decision.content === content) return before;
    if (before !== undefined) this.#forget(before);
    const timer = this.#clock.setTimeout(() => this.#tell(entry, 'different'), PATIENCE_MS);
    const followers = before?.followers ?? new Set<Follower>();
    const entry: Waiting = { decision, since: this.#clock.monotonic(), timer, followers };
    this.#waiting.set(`${resource} ${object}`, ofObject.set(what, entry));
    if (decision.unnamed === true) {
      this.#unnamed.set(resource, (this.#unnamed.get(resource) ?? new Set<Waiting>()).add(entry));
    }
    this.#count({ what, outcome: 'wanted' });
    this.#log.info('Would do, were it not for --observe-only', { what, object });
    return entry;
  }

  /**
   * Takes note of a decision whose doing takes time, such as a new VM.
   * @returns the object that showed that somebody did it, however late
   * @throws the signal's reason, or that the object went before
   */
  follow(decision: Decision, signal: AbortSignal): Promise<KubeObject> {
    const { followers } = this.#note(decision);
    return new Promise<KubeObject>((resolve, reject) => {
      const follower: Follower = { resolve, reject };
      const end = (): void => {
        followers.delete(follower);
        reject(signal.reason);
      };
      if (signal.aborted) return end();
      followers.add(follower);
      signal.addEventListener('abort', end, { once: true });
    });
  }

  /** An object as the API server shows it now. */
  saw(resource: string, object: KubeObject, deleted: boolean): void {
    const { namespace = '', name } = object.metadata;
    for (const entry of this.#ofObject(resource, `${namespace}/${name}`).values()) {
      const { decision } = entry;
      if (decision.unnamed === true) continue;
      if (decision.done(object, deleted)) this.#end(entry, 'same', object);
      else if (deleted) this.#end(entry, 'gone', object);
      else if (decision.lacks) entry.lacks = decision.lacks(object);
    }
    for (const entry of this.#unnamed.get(resource) ?? []) {
      if (entry.decision.done(object, deleted)) this.#end(entry, 'same', object);
    }
  }

  #ofObject(resource: string, object: string): Map<string, Waiting> {
    return this.#waiting.get(`${resource} ${object}`) ?? new Map<string, Waiting>();
  }

  #forget(entry: Waiting): void {
    const { what, resource, object } = entry.decision;
    entry.timer.cancel();
    const ofObject = this.#ofObject(resource, object);
    ofObject.delete(what);
    if (ofObject.size === 0) this.#waiting.delete(`${resource} ${object}`);
    this.#unnamed.get(resource)?.delete(entry);
  }

  #end(entry: Waiting, outcome: 'same' | 'gone', seen: KubeObject): void {
    const { overdue, followers, decision } = entry;
    this.#forget(entry);
    if (!overdue) this.#tell(entry, outcome);
    const gone = new Error(`${decision.what} ${decision.object}: the object went before`);
    for (const { resolve, reject } of followers) outcome === 'same' ? resolve(seen) : reject(gone);
  }

  #tell(entry: Waiting, outcome: Exclude<Outcome, 'wanted'>): void {
    const { decision, since, lacks } = entry;
    const { what, object } = decision;
    this.#count({ what, outcome });
    const fields = { what, object, afterMs: this.#clock.monotonic() - since };
    if (outcome === 'different') {
      entry.overdue = true;
      this.#log.warn(WORDS.different, lacks === undefined ? fields : { ...fields, lacks });
    } else this.#log.info(WORDS[outcome], fields);
  }
}
