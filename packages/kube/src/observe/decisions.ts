import type { Clock, Timer } from '../clock/clock.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubeObject } from '../contract/objects.ts';
import type { Meters } from '../metrics/meters.ts';

/**
 * The outcome of a decision in observe mode.
 * - `wanted`: this process would have executed the decision now.
 * - `same`: another controller executed the decision.
 * - `gone`: the object was deleted before a controller executed the decision.
 * - `different`: no controller executed the decision in five minutes.
 */
export type Outcome = 'wanted' | 'same' | 'gone' | 'different';

/** An action that this process would execute without `--observe-only`. */
export interface Decision {
  /**
   * The verb and the resource, such as `patch machinesets/status` or `create vm`. The number of different texts is
   * small.
   */
  readonly what: string;
  readonly resource: string;
  /** The object as `namespace/name`. A new object without a name is identified by its owner. */
  readonly object: string;
  /**
   * True for a new object whose name the API server generates. Any new object may then show that another controller
   * executed the decision.
   */
  readonly unnamed?: boolean;
  /** The content of the decision. Two decisions with equal contents are equal. */
  readonly content: string;
  /** Returns true if the current object shows that the decision was executed. */
  done(object: KubeObject, deleted: boolean): boolean;
  /** Returns the fields in which the current object differs from the decision. */
  readonly lacks?: (object: KubeObject) => readonly string[];
}

/** The active controller must execute an equal decision within this time. */
const PATIENCE_MS = 5 * 60_000;

interface Waiting {
  readonly decision: Decision;
  readonly since: number;
  readonly timer: Timer;
  /** The callers of `follow`, which wait until another controller has executed the decision. */
  readonly followers: Set<Follower>;
  /** The fields in which the last known object differs from the decision. */
  lacks?: readonly string[];
  /** True after mcm has logged that no controller executed the decision in time. */
  overdue?: true;
}

interface Follower {
  readonly resolve: (object: KubeObject) => void;
  readonly reject: (reason: unknown) => void;
}

const WORDS: Readonly<Record<Exclude<Outcome, 'wanted'>, string>> = {
  same: 'The running controller executed the observed action',
  gone: 'The object was deleted before the running controller acted',
  different: 'The running controller did not execute the observed action',
};

/** Records the decisions of this process, and compares them with the actions of other controllers. */
export class ObserveDecisions {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #count: (labels: { readonly what: string; readonly outcome: Outcome }) => void;
  /**
   * The waiting decisions by resource and object, and then by action. A repeated decision replaces the previous
   * decision. An overdue decision stays until it is executed or its object is deleted, so that mcm logs it only once.
   */
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

  /** Records a decision. An equal decision is logged only once. */
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

  /**
   * Records a decision whose execution takes time, such as the creation of a VM.
   * @returns the object that shows that another controller executed the decision. The wait has no time limit.
   * @throws the reason of the signal, or an error if the object was deleted first
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
