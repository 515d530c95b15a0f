import type { Clock, Random, Transport, TransportRequest, TransportResponse } from '@mcm/kube';
import { isWatch } from '@mcm/kube';

/** The failure of a write: a response 409, 429 or 500 without an effect, or a lost response after the effect. */
export type WriteFailure = 'conflict' | 'throttled' | 'internal' | 'lost';

/**
 * The time at which the controllers end: at the n-th request, either before they send the request, or after its effect
 * and before its response.
 */
export interface Death {
  readonly requests: number;
  readonly done: boolean;
}

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
/** Maximum time from a decision to the arrival of its write, including the retries of the client. */
const WRITE_MS = 15_000;
const CODES = { conflict: 409, throttled: 429, internal: 500 } as const;
const REASONS = { conflict: 'Conflict', throttled: 'TooManyRequests', internal: 'InternalError' } as const;

/** The connection between the controllers and the API server, with faults. */
export class FaultyWire {
  readonly #random: Random;
  readonly #onDeath: () => void;
  #chance = 0;
  #death: Death | undefined;
  #dead = false;
  readonly #held = new Map<string, { readonly until: Promise<void>; readonly release: () => void }>();
  readonly #open = new Map<AbortController, string>();
  readonly #silences: { readonly start: number; end: number | undefined }[] = [];

  constructor(random: Random, onDeath: () => void) {
    [this.#random, this.#onDeath] = [random, onDeath];
  }

  failWrites(chance: number): void {
    this.#chance = chance;
  }

  die(death: Death): void {
    this.#death = death;
  }

  restart(): void {
    this.#dead = false;
  }

  hold(plural: string, clock: Clock, ms: number): void {
    if (this.#held.has(plural)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const silence: { readonly start: number; end: number | undefined } = {
      start: clock.now().getTime(),
      end: undefined,
    };
    this.#silences.push(silence);
    const release = () => {
      silence.end ??= clock.now().getTime();
      this.#held.delete(plural);
      resolve();
    };
    this.#held.set(plural, { until: promise, release });
    clock.setTimeout(release, ms);
  }

  ageMs(clock: Clock): number {
    const now = clock.now().getTime();
    const since = now - WRITE_MS;
    const relevant = this.#silences.filter(({ end = now }) => end >= since);
    return WRITE_MS + Math.max(0, ...relevant.map(({ start }) => now - start));
  }

  cut(): void {
    for (const connection of this.#open.keys()) connection.abort(new Error('read ECONNRESET'));
  }

  repair(): void {
    this.#chance = 0;
    this.#death = undefined;
    for (const { release } of [...this.#held.values()]) release();
  }

  wrap(transport: Transport): Transport {
    return async (request) => {
      if (this.#dead) throw new Error('the process has ended');
      if (isWatch(request.path)) return this.#watch(transport, request);
      const dies = this.#counts();
      if (dies && !dies.done) throw this.#end();
      const mishap = this.#draw(request);
      if (mishap !== undefined && mishap !== 'lost') return refusal(mishap);
      const answer = await transport(request);
      if (dies) throw this.#end();
      if (mishap === 'lost') throw new Error('read ECONNRESET');
      return answer;
    };
  }

  #counts(): Death | undefined {
    const death = this.#death;
    if (!death) return undefined;
    if (death.requests > 0) {
      this.#death = { ...death, requests: death.requests - 1 };
      return undefined;
    }
    this.#death = undefined;
    return death;
  }

  #end(): Error {
    this.#dead = true;
    this.#onDeath();
    return new Error('the process ends here');
  }

  #draw({ method }: TransportRequest): WriteFailure | undefined {
    if (this.#chance === 0 || !WRITES.has(method) || this.#random.next() >= this.#chance) return undefined;
    const kinds: readonly WriteFailure[] =
      method === 'PATCH' || method === 'PUT'
        ? ['conflict', 'throttled', 'internal', 'lost']
        : ['throttled', 'internal', 'lost'];
    return kinds[Math.floor(this.#random.next() * kinds.length)];
  }

  async #watch(transport: Transport, request: TransportRequest): Promise<TransportResponse> {
    const connection = new AbortController();
    const follow = () => connection.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', follow, { once: true });
    const plural = request.path.split('?')[0]?.split('/').at(-1) ?? '';
    this.#open.set(connection, plural);
    const close = () => {
      request.signal?.removeEventListener('abort', follow);
      this.#open.delete(connection);
    };
    const answer = await transport({ ...request, signal: connection.signal });
    const body = answer.body && this.#heard(plural, answer.body, connection, close);
    return { status: answer.status, headers: answer.headers, text: () => answer.text(), body };
  }

  async *#heard(
    plural: string,
    body: AsyncIterable<Uint8Array>,
    { signal }: AbortController,
    close: () => void,
  ): AsyncGenerator<Uint8Array, void, void> {
    const broken = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    broken.catch(() => undefined);
    const chunks = body[Symbol.asyncIterator]();
    try {
      for (;;) {
        const chunk = await Promise.race([chunks.next(), broken]);
        const held = this.#held.get(plural);
        if (held) await Promise.race([held.until, broken]);
        if (chunk.done) return;
        yield chunk.value;
      }
    } finally {
      close();
    }
  }
}

function refusal(mishap: keyof typeof CODES): TransportResponse {
  const [code, reason] = [CODES[mishap], REASONS[mishap]];
  const body = { apiVersion: 'v1', kind: 'Status', status: 'Failure', message: `${reason} by chance`, reason, code };
  const headers: Record<string, string> = mishap === 'throttled' ? { 'retry-after': '2' } : {};
  return new Response(JSON.stringify(body), { status: code, headers });
}
