import type { Random, Transport, TransportRequest, TransportResponse } from '@mcm/kube';

/** Who sends a request: the two controllers, and the hollow kubelets together. */
export type Caller = 'manager' | 'machine-controller' | 'kubelets';

/** What may befall a request that reaches the API server or the cloud. */
export type Mishap =
  /** Refused with 409 and no effect: somebody else wrote first. */
  | 'conflict'
  /** Refused with 429 and a Retry-After. */
  | 'throttled'
  /** Answered with 500, nothing done. */
  | 'internal'
  /** Done, and the connection is lost before the answer. */
  | 'lost'
  /** The caller dies before the request leaves. */
  | 'killed before'
  /** The caller dies with the request done and before its answer. */
  | 'killed after';

/** Mishaps by chance, each from 0 to 1 for one request. */
export type Chances = Readonly<Partial<Record<Mishap, number>>>;

export interface NetworkOptions {
  readonly random: Random;
  /** Ends the life of a caller. */
  readonly kill: (caller: Caller) => void;
  /** Told of every mishap. */
  readonly note: (text: string) => void;
  /** Whether the history is over: nothing is answered from then on. */
  readonly isOver?: () => boolean;
}

const isWatch = (path: string): boolean => /[?&]watch=(true|1)(&|$)/.test(path);
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
const REFUSED = 'connect ECONNREFUSED';
const RESET = 'read ECONNRESET';
/** Writes that name a version, or change an object that is there, can meet somebody else's. */
const CAN_CONFLICT: ReadonlySet<string> = new Set(['PUT', 'PATCH']);
const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const RETRY_AFTER_SECONDS = 2;

/**
 * The wires between the processes and the API server: they can be cut, watches on them can go silent, and single
 * requests can come to harm.
 */
export class Network {
  readonly #options: NetworkOptions;
  readonly #cut = new Set<Caller>();
  /** Connections that a cut breaks. */
  readonly #open = new Map<AbortController, Caller>();
  readonly #silent = new Map<Caller, AbortController>();
  /** Paths whose answers do not reach a caller. */
  readonly #unheard = new Map<Caller, RegExp>();
  /** Watches of a caller that will be answered 410. */
  readonly #expired = new Map<Caller, number>();
  #chances: Chances = {};
  #cloudChances: Chances = {};
  #watchesOpened = 0;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** Watches opened so far, by whomever. */
  get watchesOpened(): number {
    return this.#watchesOpened;
  }

  /** The server is gone for these callers: open connections break, new ones are refused. */
  cut(...callers: readonly Caller[]): void {
    for (const caller of callers) {
      this.#cut.add(caller);
      for (const [connection, owner] of this.#open) if (owner === caller) connection.abort(new Error(RESET));
    }
  }

  mend(): void {
    this.#cut.clear();
    this.#unheard.clear();
  }

  /**
   * The server carries out a caller's requests to these paths, reads and writes, and every answer is lost until `mend`.
   * A watch that loses an event says nothing any more.
   */
  loseAnswers(caller: Caller, paths: RegExp): void {
    this.#unheard.set(caller, paths);
  }

  /** The open watches of a caller say nothing any more, though their connections stay. New ones speak. */
  silence(caller: Caller): void {
    this.#silent.get(caller)?.abort();
    this.#silent.delete(caller);
  }

  /** The open watches of a caller break, and the version that each goes on from is too old (410): it has to list anew. */
  expire(caller: Caller): void {
    for (const [connection, owner] of this.#open) {
      if (owner !== caller) continue;
      this.#expired.set(caller, (this.#expired.get(caller) ?? 0) + 1);
      connection.abort(new Error(RESET));
    }
  }

  /** Harm by chance to the writes of both controllers; those to the cloud can have chances of their own. */
  endanger(chances: Chances, toCloud: Chances = chances): void {
    this.#chances = chances;
    this.#cloudChances = toCloud;
  }

  /** A wire of a caller. */
  wire(caller: Caller, transport: Transport): Transport {
    return async (request) => {
      if (this.#options.isOver?.()) return never();
      if (this.#cut.has(caller)) throw new Error(REFUSED);
      if (isWatch(request.path)) return this.#watch(caller, transport, request);
      const mishap = this.#draw(caller, request);
      if (mishap !== undefined) this.#options.note(`${caller}: ${request.method} ${request.path} ${mishap}`);
      const answer = refusalFor(mishap) ?? (await this.#send(caller, transport, request, mishap));
      if (this.#cut.has(caller) || this.#isUnheard(caller, request)) throw new Error(RESET);
      return answer;
    };
  }

  /** A wire to the cloud: only deaths befall it here, the cloud orders its own faults. */
  cloudWire(caller: Caller, transport: Transport): Transport {
    return async (request) => {
      const mishap = this.#draw(caller, request, this.#cloudChances);
      if (mishap !== 'killed before' && mishap !== 'killed after') return transport(request);
      this.#options.note(`${caller}: cloud ${request.method} ${request.path} ${mishap}`);
      return this.#send(caller, transport, request, mishap);
    };
  }

  #isUnheard(caller: Caller, { path }: TransportRequest): boolean {
    return this.#unheard.get(caller)?.test(path) ?? false;
  }

  async #send(
    caller: Caller,
    transport: Transport,
    request: TransportRequest,
    mishap: Mishap | undefined,
  ): Promise<TransportResponse> {
    if (mishap === 'killed before') {
      this.#options.kill(caller);
      return never();
    }
    const answer = await transport(request);
    if (mishap === 'killed after') this.#options.kill(caller);
    if (mishap === 'lost') throw new Error(RESET);
    return answer;
  }

  /** One roll of the dice a request. */
  #draw(caller: Caller, { method }: TransportRequest, chances = this.#chances): Mishap | undefined {
    if (caller === 'kubelets' || !WRITES.has(method)) return undefined;
    let left = Object.keys(chances).length === 0 ? 1 : this.#options.random.next();
    for (const [mishap, chance] of Object.entries(chances) as [Mishap, number][]) {
      if (mishap === 'conflict' && !CAN_CONFLICT.has(method)) continue;
      if (left < chance) return mishap;
      left -= chance;
    }
    return undefined;
  }

  async #watch(caller: Caller, transport: Transport, request: TransportRequest): Promise<TransportResponse> {
    this.#watchesOpened += 1;
    const expired = this.#expired.get(caller) ?? 0;
    if (expired > 0) {
      this.#expired.set(caller, expired - 1);
      this.#options.note(`${caller}: a watch is answered 410`);
      return refusal(410, 'Expired');
    }
    const connection = new AbortController();
    const follow = (): void => connection.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', follow, { once: true });
    this.#open.set(connection, caller);
    const close = (): void => {
      request.signal?.removeEventListener('abort', follow);
      this.#open.delete(connection);
      connection.abort(new Error('closed'));
    };
    try {
      const answer = await transport({ ...request, signal: connection.signal });
      const silent = this.#silent.get(caller) ?? new AbortController();
      this.#silent.set(caller, silent);
      const isSilent = (): boolean => silent.signal.aborted || this.#isUnheard(caller, request);
      const body = answer.body && heard(answer.body, connection.signal, isSilent, close);
      return { status: answer.status, headers: answer.headers, text: () => answer.text(), body };
    } catch (error) {
      close();
      throw error;
    }
  }
}

/** The refusals that the server is said to have made. */
function refusalFor(mishap: Mishap | undefined): TransportResponse | undefined {
  if (mishap === 'conflict') return refusal(409, 'Conflict');
  if (mishap === 'throttled') return refusal(429, 'TooManyRequests', { 'retry-after': String(RETRY_AFTER_SECONDS) });
  if (mishap === 'internal') return refusal(500, 'InternalError');
  return undefined;
}

function refusal(code: number, reason: string, headers: Readonly<Record<string, string>> = {}): TransportResponse {
  const body = { apiVersion: 'v1', kind: 'Status', status: 'Failure', message: `${reason} by chance`, reason, code };
  return new Response(JSON.stringify(body), { status: code, headers });
}

/** Rejects when the connection breaks. */
const broken = (connection: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const fail = (): void => reject(connection.reason);
    if (connection.aborted) fail();
    else connection.addEventListener('abort', fail, { once: true });
  });

/** A body, which breaks with its connection; once it is silent nothing of it is heard again. */
async function* heard(
  body: AsyncIterable<Uint8Array>,
  connection: AbortSignal,
  isSilent: () => boolean,
  close: () => void,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const chunk of body) {
      if (isSilent()) await broken(connection);
      yield chunk;
    }
  } finally {
    close();
  }
}
