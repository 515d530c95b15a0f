import type { Clock, Timer } from '../apimachinery/objects/clock.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { FIRST_SERVICE_ADDRESS } from '../kinds/core/service-ports.ts';
import { type ControlPlane, startControlPlane } from '../plane.ts';

export class TestClock implements Clock {
  #now: number;
  readonly #timers = new Set<{ readonly at: number; readonly fn: () => void }>();

  constructor(start = '2024-01-01T00:00:00Z') {
    this.#now = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#now);
  }

  setTimeout(fn: () => void, ms: number): Timer {
    const timer = { at: this.#now + ms, fn };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const next = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.fn();
      await settle();
    }
    this.#now = end;
    await settle();
  }
}

export async function settle(): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

export class TestPlane {
  readonly clock: TestClock;
  readonly #plane: ControlPlane;
  readonly errors: string[];

  private constructor(clock: TestClock, plane: ControlPlane, errors: string[]) {
    this.clock = clock;
    this.#plane = plane;
    this.errors = errors;
  }

  static start(...controllers: string[]): Promise<TestPlane> {
    return TestPlane.serving([], ...controllers);
  }

  /** Starts a control plane that serves alpha API versions too. */
  static async serving(runtimeConfig: readonly string[], ...controllers: string[]): Promise<TestPlane> {
    const clock = new TestClock();
    const errors: string[] = [];
    let seed = 1;
    const random = (): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed / 2_147_483_648;
    };
    const plane = await startControlPlane({
      clock,
      random,
      controllers,
      runtimeConfig,
      onControllerError: (name, key, error) => errors.push(`${name} ${key}: ${error}`),
    });
    return new TestPlane(clock, plane, errors);
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<{ code: number; body: ApiObject }> {
    const response = await this.#plane.fetch(
      new Request(`http://plane${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': contentType } }),
      }),
    );
    return { code: response.status, body: (await response.json()) as ApiObject };
  }

  async must(method: string, path: string, body?: unknown, contentType?: string): Promise<ApiObject> {
    const answer = await this.send(method, path, body, contentType);
    if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.code} ${JSON.stringify(answer.body)}`);
    await settle();
    return answer.body;
  }

  patch(path: string, patch: unknown): Promise<ApiObject> {
    return this.must('PATCH', path, patch, 'application/merge-patch+json');
  }

  async list(path: string): Promise<ApiObject[]> {
    const all = (await this.must('GET', path)).items as ApiObject[];
    return all.filter(
      ({ metadata: { namespace, name } }) =>
        `${namespace}/${name}` !== 'default/kubernetes' && name !== FIRST_SERVICE_ADDRESS,
    );
  }

  async exists(path: string): Promise<boolean> {
    return (await this.send('GET', path)).code === 200;
  }

  /** Returns the response with its body as a stream, for watches. */
  fetch(path: string): Promise<Response> {
    return this.#plane.fetch(new Request(`http://plane${path}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#plane.close();
  }
}
