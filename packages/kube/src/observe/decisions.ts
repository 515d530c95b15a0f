import type { Clock, Timer } from '../clock/clock.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubeObject } from '../contract/objects.ts';
import type { Meters } from '../metrics/meters.ts';

/** The outcome of a decision in observe mode, after at most five minutes. */
export type Outcome = 'wanted' | 'same' | 'gone' | 'different';

/** An action that this process would execute without `--observe-only`. */
export interface Decision {
  readonly what: string;
  readonly resource: string;
  readonly object: string;
  readonly unnamed?: boolean;
  readonly content: string;
  done(object: KubeObject, deleted: boolean): boolean;
  readonly lacks?: (object: KubeObject) => readonly string[];
}

/** A decision counts as not executed if the active controller does not execute the same action within this time. */
const PATIENCE_MS = 5 * 60_000;

interface Waiting {
  readonly decision: Decision;
  readonly since: number;
  readonly timer: Timer;
  readonly followers: Set<Follower>;
  lacks?: readonly string[];
  overdue?: true;
}

interface Follower {
  readonly resolve: (object: KubeObject) => void;
  readonly reject: (reason: unknown) => void;
}

const WORDS: Readonly<Record<Exclude<Outcome, 'wanted'>, string>> = {
  same: 'The running controller executed the action that the observer also chose',
  gone: 'The object was deleted before the running controller acted',
  different: 'The running controller did not execute the action that the observer chose',
};

/** Records each decision of this process once, and compares the decisions with the actions of other controllers. */
export class ObserveDecisions {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #count: (labels: { readonly what: string; readonly outcome: Outcome }) => void;
  readonly #waiting = new Map<string, Map<string, Waiting>>();
  readonly #unnamed = new Map<string, Set<Waiting>>();

  constructor({ clock, log, meters }: { readonly clock: Clock; readonly log: Logger; readonly meters: Meters }) {
    this.#clock = clock;
    this.#log = log;
    const count = meters.counter({
      name: 'mcm_observe_decisions_total',
      help: 'Number of actions that --observe-only prevented, by outcome; the outcome states whether another controller executed the action within five minutes',
      labels: ['what', 'outcome'],
    });
    this.#count = (labels) => count({ ...labels });
  }

  want(decision: Decision): void {
    this.#note(decision);
  }

  #note(decision: Decision): Waiting {
    const { what, resource, object, content } = decision;
    const ofObject = this.#ofObject(resource, object);
    const before = ofObject.get(what);
    if (before?.decision.content === content) return before;
    if (before !== undefined) this.#forget(before);
    const timer = this.#clock.setTimeout(() => this.#report(entry, 'different'), PATIENCE_MS);
    const followers = before?.followers ?? new Set<Follower>();
    const entry: Waiting = { decision, since: this.#clock.monotonic(), timer, followers };
    this.#waiting.set(`${resource} ${object}`, ofObject.set(what, entry));
    if (decision.unnamed === true) {
      this.#unnamed.set(resource, (this.#unnamed.get(resource) ?? new Set<Waiting>()).add(entry));
    }
    this.#count({ what, outcome: 'wanted' });
    this.#log.info('Observe only: action not executed', { what, object });
    return entry;
  }

  /** Records a decision whose execution takes time, such as the creation of a VM. */
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
    if (!overdue) this.#report(entry, outcome);
    const gone = new Error(`${decision.what} ${decision.object}: the object was deleted before the action`);
    for (const { resolve, reject } of followers) outcome === 'same' ? resolve(seen) : reject(gone);
  }

  #report(entry: Waiting, outcome: Exclude<Outcome, 'wanted'>): void {
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
