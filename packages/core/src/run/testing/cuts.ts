import type { Transport, TransportRequest, TransportResponse } from '@mcm/kube';

/** One API server represents both clusters, and the path of a request shows the cluster. */
export type Server = 'control' | 'target';

/**
 * The ways in which an API server can be unreachable:
 * - `refused`: connections are refused, and open connections are closed.
 * - `silent`: no data arrives in either direction.
 * - `hanging`: requests get no response, and open watches continue.
 * - `failing`: requests get an error, and open watches continue.
 * - `unwatched`: only watches fail.
 */
export type Cut = 'refused' | 'silent' | 'hanging' | 'failing' | 'unwatched';

const serverOf = (path: string): Server =>
  /\/(machine\.sapcloud\.io|secrets|configmaps|leases)(\/|\?|$)/.test(path) ? 'control' : 'target';

const isWatch = ({ path }: TransportRequest): boolean => path.includes('watch=');

const until = (gone: Promise<void>, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (signal?.aborted) reject(signal.reason);
    void gone.then(resolve);
  });

export class Cuts {
  readonly #monotonic: () => number;
  #cut: { readonly how: Cut; readonly server: Server; readonly restored: PromiseWithResolvers<void> } | undefined;
  readonly #watches = new Map<AbortController, Server>();
  readonly #answeredAt = new Map<Server, number>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  answeredAt(server: Server): number {
    return this.#answeredAt.get(server) ?? 0;
  }

  cut(server: Server, how: Cut): void {
    this.#cut = { how, server, restored: Promise.withResolvers() };
    if (how !== 'refused' && how !== 'unwatched') return;
    for (const [line, of] of this.#watches) if (of === server) line.abort(new TypeError('reset'));
  }

  restore(): void {
    this.#cut?.restored.resolve();
    this.#cut = undefined;
  }

  readonly wrap =
    (transport: Transport): Transport =>
    async (request) => {
      const server = serverOf(request.path);
      const how = this.#of(server);
      if (how === 'refused' || (how === 'unwatched' && isWatch(request))) throw new TypeError('connection refused');
      if (how === 'failing') return new Response('{"kind":"Status","code":500}', { status: 500 });
      if (how === 'silent' || how === 'hanging') await until(this.#restored(), request.signal);
      if (isWatch(request)) return this.#watch(transport, request, server);
      const response = await transport(request);
      this.#answeredAt.set(server, this.#monotonic());
      return response;
    };

  #of = (server: Server): Cut | undefined => (this.#cut?.server === server ? this.#cut.how : undefined);

  #restored = (): Promise<void> => this.#cut?.restored.promise ?? Promise.resolve();

  async #watch(transport: Transport, request: TransportRequest, server: Server): Promise<TransportResponse> {
    const line = new AbortController();
    this.#watches.set(line, server);
    const signal = AbortSignal.any([line.signal, ...(request.signal ? [request.signal] : [])]);
    const response = await transport({ ...request, signal });
    const { body } = response;
    const held = body && this.#held(body, server, signal);
    return { status: response.status, headers: response.headers, text: () => response.text(), body: held };
  }

  async *#held(body: AsyncIterable<Uint8Array>, server: Server, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      if (this.#of(server) === 'silent') await until(this.#restored(), signal);
      yield chunk;
    }
  }
}
