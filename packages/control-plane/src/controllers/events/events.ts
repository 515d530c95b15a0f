import type { Clock } from '../../apimachinery/objects/clock.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import type { Plain } from '../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../client/api.ts';
import { EVENTS, NEW_EVENTS } from '../client/resources.ts';

export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion?: string | undefined;
}

export type EventType = 'Normal' | 'Warning';

const subjectOf = ({ apiVersion, kind, metadata }: ApiObject): EventSubject => ({
  apiVersion,
  kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  resourceVersion: metadata.resourceVersion,
});

/**
 * The number of events that the recorder writes immediately. After such a burst, each interval allows one more event.
 */
const BURST = 25;
const REFILL_MS = 300_000;
/** The number of similar events after which the recorder combines them. Similar events differ only in their message. */
const SIMILAR = 10;
const SIMILAR_MS = 600_000;
const REMEMBERED = 4096;
const COMBINED = '(combined from similar events): ';

interface Observed {
  readonly namespace: string;
  readonly name: string;
  readonly first: string;
  readonly count: number;
}

interface Group {
  readonly messages: Set<string>;
  last: number;
}

/** A map that removes its oldest entry when it is full. */
class Recent<V> extends Map<string, V> {
  override set(key: string, value: V): this {
    this.delete(key);
    if (this.size >= REMEMBERED) {
      for (const oldest of this.keys()) {
        this.delete(oldest);
        break;
      }
    }
    return super.set(key, value);
  }
}

/**
 * Records events by the rules of the event recorder in client-go.
 * - A repeated event increments its count.
 * - Many events that differ only in their message become one event.
 * - For each object, the recorder writes only a limited number of events of each type.
 * - The recorder reports a rejected event to `onError` and does not send the event again.
 * @see client-go tools/record
 */
export class EventWriter {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #onError: (key: string, error: unknown) => void;
  readonly #observed = new Recent<Observed>();
  readonly #groups = new Recent<Group>();
  readonly #spent = new Recent<{ tokens: number; at: number }>();
  #last: Promise<void> = Promise.resolve();
  #number = 0;

  constructor(api: Api, clock: Clock, onError: (key: string, error: unknown) => void) {
    this.#api = api;
    this.#clock = clock;
    this.#onError = onError;
  }

  record(component: string, subject: EventSubject, type: EventType, reason: string, message: string): void {
    const about = `${component}/${subject.kind}/${subject.namespace}/${subject.name}/${subject.uid}/${type}`;
    const group = `${about}/${reason}`;
    const combined = this.#isOneOfMany(group, message);
    const now = formatTime(this.#clock.now());
    const observed = this.#observe(combined ? group : `${group}/${message}`, subject, now);
    if (!this.#mayWrite(about)) return;
    const { namespace, name, first, count } = observed;
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: { ...subject, namespace: subject.namespace || undefined },
      reason,
      message: combined ? `${COMBINED}${message}` : message,
      source: { component },
      firstTimestamp: first,
      lastTimestamp: now,
      count,
      type,
      // As in client-go, a combined event has no `reportingComponent`.
      reportingComponent: combined ? '' : component,
      reportingInstance: '',
    };
    this.#last = this.#last
      .then(() => this.#write(event))
      .catch((error: unknown) => this.#onError(`${subject.namespace}/${subject.name}`, error));
  }

  /** Writes an event of the API group `events.k8s.io`. */
  announce(
    component: string,
    subject: EventSubject,
    type: EventType,
    reason: string,
    action: string,
    note: string,
  ): void {
    const namespace = subject.namespace === '' ? 'default' : subject.namespace;
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: `${subject.name}.${this.#suffix()}`, namespace },
      eventTime: this.#clock.now().toISOString().replace('Z', '000Z'),
      reportingController: component,
      reportingInstance: `${component}-control-plane`,
      action,
      reason,
      regarding: subject,
      note,
      type,
    };
    this.#last = this.#last
      .then(() => allowing(this.#api.create(NEW_EVENTS, event, { namespace }), 403, 404, 422))
      .then(() => undefined)
      .catch((error: unknown) => this.#onError(`${subject.namespace}/${subject.name}`, error));
  }

  /** Counts an event, even if the recorder does not write the event. */
  #observe(key: string, subject: EventSubject, now: string): Observed {
    const known = this.#observed.get(key) ?? {
      namespace: subject.namespace === '' ? 'default' : subject.namespace,
      name: `${subject.name}.${this.#suffix()}`,
      first: now,
      count: 0,
    };
    const observed = { ...known, count: known.count + 1 };
    this.#observed.set(key, observed);
    return observed;
  }

  async #write(event: Plain & { metadata: { name: string; namespace: string }; count: number }): Promise<void> {
    const { count, lastTimestamp, message, metadata } = event;
    if (count > 1) {
      const raised = await allowing(this.#api.patch(EVENTS, metadata, { count, lastTimestamp, message }), 404);
      if (raised !== undefined) return;
    }
    // A terminating namespace refuses events, and some object names are invalid as event names.
    await allowing(this.#api.create(EVENTS, event, { namespace: metadata.namespace }), 403, 404, 422);
  }

  /** Returns the suffix of an event name: the time in nanoseconds as sixteen hexadecimal digits, as in Kubernetes. */
  #suffix(): string {
    const nanos = BigInt(this.#clock.now().getTime()) * 1_000_000n + BigInt(this.#number++ % 1_000_000);
    return nanos.toString(16);
  }

  #isOneOfMany(key: string, message: string): boolean {
    const now = this.#clock.now().getTime();
    const group = this.#groups.get(key);
    if (group === undefined || now - group.last > SIMILAR_MS) {
      this.#groups.set(key, { messages: new Set([message]), last: now });
      return false;
    }
    group.last = now;
    group.messages.add(message);
    if (group.messages.size < SIMILAR) return false;
    // If an event with this message exists already, the writer updates it even above the limit.
    group.messages.delete(message);
    return true;
  }

  #mayWrite(key: string): boolean {
    const now = this.#clock.now().getTime();
    const spent = this.#spent.get(key) ?? { tokens: BURST, at: now };
    const refilled = Math.min(BURST, spent.tokens + (now - spent.at) / REFILL_MS);
    if (refilled < 1) {
      this.#spent.set(key, { tokens: refilled, at: now });
      return false;
    }
    this.#spent.set(key, { tokens: refilled - 1, at: now });
    return true;
  }
}

export type Recorder = (subject: EventSubject | ApiObject, type: EventType, reason: string, message: string) => void;

export const recorderOf =
  (writer: EventWriter, component: string): Recorder =>
  (subject, type, reason, message) =>
    writer.record(component, 'metadata' in subject ? subjectOf(subject) : subject, type, reason, message);

export type Announcer = (
  subject: EventSubject | ApiObject,
  type: EventType,
  reason: string,
  action: string,
  note: string,
) => void;

export const announcerOf =
  (writer: EventWriter, component: string): Announcer =>
  (subject, type, reason, action, note) =>
    writer.announce(component, 'metadata' in subject ? subjectOf(subject) : subject, type, reason, action, note);
