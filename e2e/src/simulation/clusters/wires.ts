import {
  type Clock,
  isWatch,
  sleep,
  type Transport,
  type TransportRequest,
  type TransportResponse,
  type UndiciTransportOptions,
} from '@mcm/kube';

/** How a connection fails: a request has no response, or the connection is refused. */
export type Failure = 'hangs' | 'is refused';

/** Sends no response. The promise rejects when the sender aborts the request. */
const unanswered = (request: TransportRequest): Promise<never> =>
  new Promise((_, reject) =>
    request.signal?.addEventListener('abort', () => reject(request.signal?.reason), { once: true }),
  );

export const SEED = 'seed';
const DOMAIN = '.example';

/** Returns the server name in a kubeconfig. */
export const serverOf = ({ server }: Pick<UndiciTransportOptions, 'server'>): string =>
  new URL(server).hostname.replace(DOMAIN, '');

export const kubeconfigOf = (server: string, token = tokenOf(server)): string =>
  JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'default' } }],
    clusters: [{ name: 'c', cluster: { server: `https://${server}${DOMAIN}` } }],
    users: [{ name: 'u', user: { token } }],
  });

const tokenOf = (server: string): string => `token-of-${server}`;

/** An expired token. Each API server refuses the token. */
export const EXPIRED = 'expired';

export const cloudTokenOf = (cluster: string): string => `cloud-token-of-${cluster}`;

export class Wires {
  readonly #clock: Clock;
  readonly #cut = new Map<string, Failure>();
  readonly #hanging = new Set<string>();
  readonly #slow = new Map<string, number>();
  readonly #open = new Map<AbortController, string>();
  /** For each server, how often the server has replaced its token. */
  readonly #rotations = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the token that a server accepts. The server refuses each earlier token. */
  tokenOf(server: string): string {
    const rotations = this.#rotations.get(server) ?? 0;
    return rotations === 0 ? tokenOf(server) : `${tokenOf(server)}-${rotations}`;
  }

  /** Returns true for a token that the server accepted earlier. */
  accepted(server: string, authorization: string | undefined): boolean {
    const rotations = this.#rotations.get(server) ?? 0;
    const earlier = [
      EXPIRED,
      tokenOf(server),
      ...Array.from({ length: rotations }, (_, n) => `${tokenOf(server)}-${n}`),
    ];
    return earlier.some((token) => authorization === `Bearer ${token}`);
  }

  rotate(server: string): void {
    this.#rotations.set(server, (this.#rotations.get(server) ?? 0) + 1);
  }

  cut(process: string, server: string, failure: Failure): void {
    const pair = `${process} ${server}`;
    this.#cut.set(pair, failure);
    for (const [connection, owner] of this.#open) if (owner === pair) connection.abort(new Error('read ECONNRESET'));
  }

  mend(process: string, server: string): void {
    this.#cut.delete(`${process} ${server}`);
  }

  isCut(process: string, server: string): boolean {
    return this.#hanging.has(server) || this.#cut.has(`${process} ${server}`);
  }

  hang(server: string, hangs: boolean): void {
    if (hangs) this.#hanging.add(server);
    else this.#hanging.delete(server);
  }

  slow(namespace: string, ms: number): void {
    if (ms > 0) this.#slow.set(namespace, ms);
    else this.#slow.delete(namespace);
  }

  wire(process: string, server: string, transport: Transport): Transport {
    const pair = `${process} ${server}`;
    return async (request) => {
      const failure = this.#hanging.has(server) ? 'hangs' : this.#cut.get(pair);
      if (failure === 'is refused') throw new Error('connect ECONNREFUSED');
      if (failure === 'hangs') return unanswered(request);
      const ms = server === SEED ? (this.#slow.get(/\/namespaces\/([^/?]+)/.exec(request.path)?.[1] ?? '') ?? 0) : 0;
      if (ms > 0) await sleep(this.#clock, ms, request.signal);
      if (isWatch(request.path)) return this.#watch(pair, transport, request);
      const answer = await transport(request);
      // The server has executed the request, but the response is lost.
      if (this.#cut.has(pair)) throw new Error('read ECONNRESET');
      return answer;
    };
  }

  async #watch(pair: string, transport: Transport, request: TransportRequest): Promise<TransportResponse> {
    const connection = new AbortController();
    const follow = (): void => connection.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', follow, { once: true });
    this.#open.set(connection, pair);
    connection.signal.addEventListener('abort', () => this.#open.delete(connection), { once: true });
    return transport({ ...request, signal: connection.signal });
  }
}
