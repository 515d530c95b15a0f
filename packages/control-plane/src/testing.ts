import type { Clock } from './apimachinery/objects/clock.ts';
import type { ApiObject, ObjectMeta } from './apimachinery/objects/object.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './plane.ts';

export class StillClock implements Clock {
  #now = Date.parse('2026-01-01T00:00:00Z');
  readonly #timers = new Set<{ at: number; fn: () => void }>();

  now(): Date {
    return new Date(this.#now);
  }

  setTimeout(fn: () => void, ms: number): { cancel(): void } {
    const timer = { at: this.#now + ms, fn };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Fires all due timers in order. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const next = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.fn();
    }
    this.#now = end;
    await settle();
  }
}

/** Waits for all work that does not wait for a timer. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body of the response. For a body that is not JSON, `message` contains the text. */
  readonly body: AnswerBody;
}

export interface AnswerBody extends ApiObject {
  metadata: ObjectMeta & { continue?: string; remainingItemCount?: number };
  items: ApiObject[];
  message: string;
  details?: { causes?: { field: string; message: string; reason: string }[] };
}

export interface WatchEvent {
  readonly type: string;
  readonly object: ApiObject;
}

export class TestClient {
  readonly plane: ControlPlane;

  constructor(plane: ControlPlane) {
    this.plane = plane;
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const sent =
      body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body), duplex: 'half' as const };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const request = new Request(`https://plane${path}`, { method, headers: { ...type, ...headers }, ...sent });
    const response = await this.plane.fetch(request);
    const text = await response.text();
    const json = /json/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : { message: text } };
  }

  /** When the server has closed the watch, `ended` is true. */
  async watch(path: string) {
    const gone = new AbortController();
    const response = await this.plane.fetch(new Request(`https://plane${path}`, { signal: gone.signal }));
    const events: WatchEvent[] = [];
    const state = { ended: false };
    const read = async (): Promise<void> => {
      let rest = '';
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        events.push(...lines.map((line) => JSON.parse(line) as WatchEvent));
      }
      state.ended = true;
    };
    void read().catch(() => {
      state.ended = true;
    });
    return { status: response.status, events, state, close: () => gone.abort() };
  }
}

/** Starts a control plane without controllers. */
export async function startTestPlane(options: ControlPlaneOptions = {}) {
  const clock = new StillClock();
  const plane = await startControlPlane({ clock, controllers: false, ...options });
  return { clock, plane, client: new TestClient(plane) };
}

export const thingCrd = (openAPIV3Schema: object = { type: 'object' }) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.x.dev' },
  spec: {
    group: 'x.dev',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
  },
});
