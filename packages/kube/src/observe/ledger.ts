import type { Clock, Timer } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { Meters } from '../metrics/meters.ts';
import type { KubeObject } from '../objects.ts';

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
  /** Who goes on once somebody did it. */
  readonly followers: ((object: KubeObject) => void)[];
  /** Fields that were otherwise when the object was last seen. */
  lacks?: readonly string[];
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
  /** By resource, then by decision; a decision that is made anew for an object takes the place of the last. */
  readonly #waiting = new Map<string, Map<string, Waiting>>();
  /** What was done, or not, in time: the same decision is not told again while the object stays as it is. */
  readonly #settled = new Map<string, string>();

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

  /** Takes note of a decision; one that waits already, or was found done or not, is not told twice. */
  want(decision: Decision): void {
    const { what, resource, object, content } = decision;
    const key = `${what} ${object}`;
    const waiting = this.#of(resource);
    const before = waiting.get(key);
    if (before?.decision.content === content || this.#settled.get(key) === content) return;
    before?.timer.cancel();
    const timer = this.#clock.setTimeout(() => this.#settle(key, resource, 'different'), PATIENCE_MS);
    waiting.set(key, { decision, since: this.#clock.monotonic(), timer, followers: before?.followers ?? [] });
    this.#count({ what, outcome: 'wanted' });
    this.#log.info('Would do, were it not for --observe-only', { what, object });
  }

  /**
   * Takes note of a decision whose doing takes time, such as a new VM.
   * @returns the object that showed that somebody did it
   * @throws the signal's reason
   */
  async follow(decision: Decision, signal: AbortSignal): Promise<KubeObject> {
    this.want(decision);
    const entry = this.#of(decision.resource).get(`${decision.what} ${decision.object}`);
    return new Promise((resolve, reject) => {
      entry?.followers.push(resolve);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }

  /** An object as the API server shows it now. */
  saw(resource: string, object: KubeObject, deleted: boolean): void {
    const { namespace = '', name } = object.metadata;
    for (const [key, entry] of this.#waiting.get(resource) ?? []) {
      const { decision } = entry;
      const own = decision.object === `${namespace}/${name}`;
      if (decision.done(object, deleted)) this.#settle(key, resource, 'same', object);
      else if (own && deleted) this.#settle(key, resource, 'gone');
      else if (own && decision.lacks) entry.lacks = decision.lacks(object);
    }
  }

  #of(resource: string): Map<string, Waiting> {
    const known = this.#waiting.get(resource) ?? new Map<string, Waiting>();
    this.#waiting.set(resource, known);
    return known;
  }

  #settle(key: string, resource: string, outcome: Exclude<Outcome, 'wanted'>, seen?: KubeObject): void {
    const entry = this.#of(resource).get(key);
    if (entry === undefined) return;
    const { decision, since, timer, lacks, followers } = entry;
    timer.cancel();
    this.#of(resource).delete(key);
    if (outcome === 'different') this.#settled.set(key, decision.content);
    else this.#settled.delete(key);
    const { what, object } = decision;
    this.#count({ what, outcome });
    const fields = { what, object, afterMs: this.#clock.monotonic() - since };
    if (outcome === 'different') this.#log.warn(WORDS.different, lacks === undefined ? fields : { ...fields, lacks });
    else this.#log.info(WORDS[outcome], fields);
    if (seen) for (const follower of followers) follower(seen);
  }
}
