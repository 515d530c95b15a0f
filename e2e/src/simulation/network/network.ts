import {
  type Clock,
  isWatch,
  type Random,
  sleep,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '@mcm/kube';
import { answerOf } from './answer.ts';
import { delayedBody } from './delayed-body.ts';
import { KeyedRandom, PROFILES, type Profile, type ProfileName, WATCH_MS } from './profiles.ts';
import { ReceivedEvents } from './received-events.ts';
import type { Chances, RequestFault } from './request-faults.ts';
import { withShortcuts } from './shortcuts.ts';
import { UnreadMachines } from './unread-machines.ts';

/** A sender of requests: one of the two controllers, or all simulated kubelets together. */
export type Caller = 'manager' | 'machine-controller' | 'kubelets';

export interface NetworkOptions {
  readonly clock: Clock;
  readonly seed: number;
  readonly random: Random;
  readonly profile?: ProfileName | undefined;
  readonly kill: (caller: Caller) => void;
  readonly note: (text: string) => void;
  readonly isOver?: () => boolean;
  readonly compact?: () => void;
}

const placeOf = (path: string): string => path.split('?')[0] ?? path;
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
const REFUSED = 'connect ECONNREFUSED';
const RESET = 'read ECONNRESET';
const CAN_CONFLICT: ReadonlySet<string> = new Set(['PUT', 'PATCH', 'GET']);
const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
export const FAULT_HEADER = 'x-simulated-fault';
const RETRY_AFTER_SECONDS = 2;
/** After a 429, a client repeats the request up to ten times, each time after the Retry-After time. */
const THROTTLED_MS = 30_000;
const PASS_MS = 1_000;
const MAX_SPARED_KUBELET_MS = 1_000;
const REQUESTS_A_PASS = 4;

const MOST_STEPS = 40;

export interface Peer {
  readonly life: AbortSignal;
  readonly kill?: () => void;
}

interface End {
  readonly caller: Caller;
  readonly received: ReceivedEvents;
}

export class Network {
  readonly #options: NetworkOptions;
  readonly #keyed: KeyedRandom;
  #profile: Profile;
  readonly #worst: Profile;
  #throttledAt = Number.NEGATIVE_INFINITY;
  readonly #cut = new Set<Caller>();
  readonly #open = new Map<AbortController, Caller>();
  readonly #silent = new Map<Caller, AbortController>();
  readonly #lostAnswers = new Map<Caller, RegExp>();
  readonly #forbidden = new Map<Caller, RegExp>();
  readonly #failing = new Map<Caller, RegExp>();
  readonly #expired = new Map<Caller, number>();
  readonly #ends = new Set<End>();
  readonly #unread = new UnreadMachines();
  #chances: Chances = {};
  #cloudChances: Chances = {};
  #watchesOpened = 0;

  constructor(options: NetworkOptions) {
    this.#options = options;
    this.#keyed = new KeyedRandom(options.seed);
    this.#profile = PROFILES[options.profile ?? 'none'];
    this.#worst = this.#profile;
    this.#scheduleCompaction();
  }

  get watchesOpened(): number {
    return this.#watchesOpened;
  }

  get silencesWatches(): boolean {
    return this.#worst.silentWatch > 0;
  }

  get losesAnswers(): boolean {
    return (this.#worst.reads.lost ?? 0) > 0;
  }

  /**
   * Returns true if a manager repeated the creation of a machine before any manager had received its name in a response
   * or event.
   */
  repeatsUnread(name: string): boolean {
    return this.#unread.isRepeated(name);
  }

  calm(): void {
    this.#profile = PROFILES.none;
    this.setFaultChances({});
    this.mend();
  }

  /** Returns the longest delay, in milliseconds, of the caches on which a caller bases a write. */
  lagMs(caller: Caller, ...resources: readonly string[]): number {
    return this.#passMs() + this.#mostBehindMs(caller, resources, PASS_MS);
  }

  /** Returns `lagMs`, but does not count the time during which a process had no watch. */
  unnoticedLagMs(caller: Caller, ...resources: readonly string[]): number {
    return this.#passMs() + Math.max(0, ...this.#received(caller).map((received) => received.unnoticedMs(resources)));
  }

  #passMs(): number {
    const waited = this.#options.clock.monotonic() - this.#throttledAt < THROTTLED_MS ? THROTTLED_MS : 0;
    return PASS_MS + REQUESTS_A_PASS * 2 * this.#worst.wireMs + waited;
  }

  #received(caller: Caller): readonly ReceivedEvents[] {
    return [...this.#ends].flatMap((end) => (end.caller === caller ? [end.received] : []));
  }

  /**
   * Returns for how long the processes of a caller may lack events of the resources (plural names), in milliseconds.
   */
  behindMs(caller: Caller, ...resources: readonly string[]): number {
    return this.#mostBehindMs(caller, resources, 0);
  }

  #mostBehindMs(caller: Caller, resources: readonly string[], passMs: number): number {
    return Math.max(0, ...this.#received(caller).map((received) => received.behindMs(resources, passMs)));
  }

  cut(...callers: readonly Caller[]): void {
    for (const caller of callers) {
      this.#cut.add(caller);
      this.#reset(caller);
    }
  }

  #reset(caller: Caller): void {
    for (const [connection, owner] of this.#open) if (owner === caller) connection.abort(new Error(RESET));
  }

  /** Compacts the history of the API server, and ends the open watches of a caller. */
  outdate(caller: Caller): void {
    this.#options.compact?.();
    this.#reset(caller);
  }

  mend(): void {
    this.#cut.clear();
    this.#lostAnswers.clear();
    this.#forbidden.clear();
    this.#failing.clear();
  }

  /** Loses all responses to a caller for some paths until `mend`, although the server executes the requests. */
  loseAnswers(caller: Caller, paths: RegExp): void {
    this.#lostAnswers.set(caller, paths);
  }

  /** Refuses the reads of a caller at some paths with 403 until `mend`, as after a change of its role. */
  forbid(caller: Caller, paths: RegExp): void {
    this.#forbidden.set(caller, paths);
    this.#reset(caller);
  }

  /** Fails the reads of a caller at some paths with 500 until `mend`. */
  failReads(caller: Caller, paths: RegExp): void {
    this.#failing.set(caller, paths);
    this.#reset(caller);
  }

  /** Stops the delivery of a caller's open watches. */
  silence(caller: Caller): void {
    this.#silent.get(caller)?.abort();
    this.#silent.delete(caller);
  }

  /** Ends the open watches of a caller with the error 410 (expired version). */
  expire(caller: Caller): void {
    for (const [connection, owner] of this.#open) {
      if (owner !== caller) continue;
      this.#expired.set(caller, (this.#expired.get(caller) ?? 0) + 1);
      connection.abort(new Error(RESET));
    }
  }

  /** Changes the probabilities of faults for writes of both controllers. */
  setFaultChances(chances: Chances, toCloud: Chances = chances): void {
    this.#chances = chances;
    this.#cloudChances = toCloud;
  }

  wire(caller: Caller, server: Transport, peer?: Peer): Transport {
    const { clock } = this.#options;
    const end: End = { caller, received: new ReceivedEvents(clock) };
    const renewals = caller === 'kubelets' && this.#worst.kubeletMs <= MAX_SPARED_KUBELET_MS;
    const transport = withShortcuts(clock, server, { renewals });
    this.#ends.add(end);
    peer?.life.addEventListener('abort', () => this.#ends.delete(end), { once: true });
    return async (request) => {
      if (this.#options.isOver?.()) return never();
      if (this.#cut.has(caller)) throw new Error(REFUSED);
      await this.#travel(caller, request, 'to');
      if (this.#cut.has(caller)) throw new Error(RESET);
      if (request.method === 'GET' && this.#forbidden.get(caller)?.test(placeOf(request.path)))
        return refusal(403, 'Forbidden', { [FAULT_HEADER]: 'forbidden' });
      if (request.method === 'GET' && this.#failing.get(caller)?.test(placeOf(request.path)))
        return refusal(500, 'InternalError');
      if (isWatch(request.path)) return this.#watch(end, transport, request, peer);
      const fault = this.#draw(caller, request);
      if (fault === 'throttled') this.#throttledAt = this.#options.clock.monotonic();
      if (fault !== undefined) this.#options.note(`${caller}: ${request.method} ${request.path} ${fault}`);
      const refused = refusalFor(fault) ?? this.#expiredPage(caller, request);
      const answer = refused ?? (await this.#send(caller, transport, this.#paged(request), fault, peer));
      await this.#travel(caller, request, 'from');
      if (this.#cut.has(caller) || this.#isUnheard(caller, request)) throw new Error(RESET);
      if (this.#isKilledNow(caller, peer)) return never();
      return caller === 'manager' ? this.#unread.answered(request, answer) : answer;
    };
  }

  /** Returns the connection from a caller to the cloud. */
  cloudWire(caller: Caller, transport: Transport, peer?: Peer): Transport {
    return async (request) => {
      await this.#travel(caller, request, 'to the cloud');
      const fault = this.#draw(caller, request, this.#cloudChances);
      const dies = fault === 'killed before' || fault === 'killed after';
      if (dies) this.#options.note(`${caller}: cloud ${request.method} ${request.path} ${fault}`);
      const answer = dies ? await this.#send(caller, transport, request, fault, peer) : await transport(request);
      await this.#travel(caller, request, 'from the cloud');
      return this.#isKilledNow(caller, peer) ? never() : answer;
    };
  }

  clock(caller: Caller, clock: Clock, peer: Peer): Clock {
    const setTimeout: Clock['setTimeout'] = (callback, ms) =>
      clock.setTimeout(() => {
        if (!peer.life.aborted && !this.#isKilledNow(caller, peer)) callback();
      }, ms);
    return { now: () => clock.now(), monotonic: () => clock.monotonic(), setTimeout };
  }

  #scheduleCompaction(): void {
    const { clock, compact, note } = this.#options;
    if (compact === undefined || this.#profile.compactMs === 0) return;
    clock.setTimeout(
      () => {
        if (this.#profile.compactMs === 0) return;
        note('the API server compacts its history');
        compact();
        this.#scheduleCompaction();
      },
      this.#keyed.delay('compaction', this.#profile.compactMs),
    );
  }

  #isKilledNow(caller: Caller, peer: Peer | undefined): boolean {
    const { crash } = this.#profile;
    if (crash === 0 || caller === 'kubelets' || this.#keyed.draw(`${caller} lives`) >= crash) return false;
    const steps = Math.floor((2 * this.#keyed.draw(`${caller} dies`) - 1) * MOST_STEPS);
    if (steps > 0) void this.#killAfter(steps, caller, peer);
    else this.#kill(caller, peer);
    return steps <= 0;
  }

  async #killAfter(steps: number, caller: Caller, peer: Peer | undefined): Promise<void> {
    for (let step = 0; step < steps; step += 1) await Promise.resolve();
    this.#kill(caller, peer);
  }

  #kill(caller: Caller, peer: Peer | undefined): void {
    if (peer?.kill) peer.kill();
    else this.#options.kill(caller);
  }

  async #travel(caller: Caller, { method, path, signal }: TransportRequest, how: string): Promise<void> {
    const mostMs = caller === 'kubelets' ? this.#profile.kubeletMs : this.#profile.wireMs;
    if (mostMs === 0) return;
    const ms = this.#keyed.delay(`${caller} ${how} ${method} ${placeOf(path)}`, mostMs);
    if (ms > 0) await sleep(this.#options.clock, ms, signal);
  }

  #isUnheard(caller: Caller, { path }: TransportRequest): boolean {
    return this.#lostAnswers.get(caller)?.test(path) ?? false;
  }

  #paged(request: TransportRequest): TransportRequest {
    const { pageSize } = this.#profile;
    if (pageSize === undefined || request.method !== 'GET') return request;
    const path = request.path.replace(
      /([?&]limit=)(\d+)/,
      (_, name, limit) => name + Math.min(Number(limit), pageSize),
    );
    return { ...request, path };
  }

  #expiredPage(caller: Caller, { path }: TransportRequest): TransportResponse | undefined {
    const { expiredPage } = this.#profile;
    if (expiredPage === 0 || !/[?&]continue=/.test(path)) return undefined;
    if (this.#keyed.draw(`${caller} page ${placeOf(path)}`) >= expiredPage) return undefined;
    this.#options.note(`${caller}: the next page of the list ${placeOf(path)} has expired`);
    return refusal(410, 'Expired');
  }

  async #send(
    caller: Caller,
    transport: Transport,
    request: TransportRequest,
    fault: RequestFault | undefined,
    peer: Peer | undefined,
  ): Promise<TransportResponse> {
    if (fault === 'killed before') {
      this.#kill(caller, peer);
      return never();
    }
    if (caller === 'manager') this.#unread.sent(request);
    const answer = await transport(request);
    if (fault === 'killed after') this.#kill(caller, peer);
    if (fault === 'lost') throw new Error(RESET);
    return answer;
  }

  #draw(caller: Caller, { method, path }: TransportRequest, writes = this.#chances): RequestFault | undefined {
    if (caller === 'kubelets') return undefined;
    const isWrite = WRITES.has(method);
    const chances = isWrite ? writes : this.#profile.reads;
    if (Object.keys(chances).length === 0) return undefined;
    let left = isWrite
      ? this.#options.random.next()
      : this.#keyed.draw(`${caller} ${isWatch(path) ? 'watches' : 'read'} ${placeOf(path)}`);
    for (const [fault, chance] of Object.entries(chances) as [RequestFault, number][]) {
      if (fault === 'conflict' && !CAN_CONFLICT.has(method)) continue;
      if (left < chance) return fault;
      left -= chance;
    }
    return undefined;
  }

  /** Lets a watch stop delivering, or lets it expire, some time after its start. */
  #scheduleWatchFault(end: End, place: string, connection: AbortController, silent: AbortController): void {
    const { clock, note } = this.#options;
    const { silentWatch, expiredWatch } = this.#profile;
    if (end.caller === 'kubelets' || silentWatch + expiredWatch === 0) return;
    const purpose = `${end.caller} watch ${place}`;
    const lot = this.#keyed.draw(purpose);
    if (lot >= silentWatch + expiredWatch) return;
    clock.setTimeout(
      () => {
        if (connection.signal.aborted || this.#profile.silentWatch === 0) return;
        if (lot < silentWatch) {
          note(`${end.caller}: the watch of ${place} delivers no further events`);
          silent.abort();
          return;
        }
        this.#expired.set(end.caller, (this.#expired.get(end.caller) ?? 0) + 1);
        connection.abort(new Error(RESET));
      },
      this.#keyed.delay(purpose, WATCH_MS),
    );
  }

  #refusedWatch(caller: Caller, request: TransportRequest): TransportResponse | undefined {
    const fault = this.#draw(caller, request);
    if (fault === undefined) return undefined;
    if (fault === 'throttled') this.#throttledAt = this.#options.clock.monotonic();
    this.#options.note(`${caller}: the watch of ${placeOf(request.path)} does not start: ${fault}`);
    const refused = refusalFor(fault);
    if (refused) return refused;
    throw new Error(RESET);
  }

  async #watch(
    end: End,
    transport: Transport,
    request: TransportRequest,
    peer: Peer | undefined,
  ): Promise<TransportResponse> {
    const { caller, received } = end;
    const { clock, note } = this.#options;
    this.#watchesOpened += 1;
    const refused = this.#refusedWatch(caller, request);
    if (refused) return refused;
    const expired = this.#expired.get(caller) ?? 0;
    if (expired > 0) {
      this.#expired.set(caller, expired - 1);
      note(`${caller}: the server answers a watch with status 410`);
      return refusal(410, 'Expired');
    }
    const place = placeOf(request.path);
    const connection = new AbortController();
    const follow = (): void => connection.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', follow, { once: true });
    this.#open.set(connection, caller);
    const close = (): void => {
      request.signal?.removeEventListener('abort', follow);
      this.#open.delete(connection);
      received.closed(place);
      connection.abort(new Error('closed'));
    };
    try {
      const answer = await transport({ ...request, signal: connection.signal });
      const all = this.#silent.get(caller) ?? new AbortController();
      this.#silent.set(caller, all);
      const own = new AbortController();
      this.#scheduleWatchFault(end, place, connection, own);
      const [openedAt, behindSince, noticedMs] = [clock.monotonic(), received.since(place), received.opened(place)];
      received.receivedUntil(place, undefined);
      const body =
        answer.body &&
        delayedBody(answer.body, {
          clock,
          connection: connection.signal,
          silent: AbortSignal.any([all.signal, own.signal]),
          delayMs: () => this.#keyed.delay(`${caller} event ${place}`, this.#eventMs(caller)),
          isLost: () => this.#isUnheard(caller, request),
          onSent: () => received.lacks(place, clock.monotonic() === openedAt ? behindSince : undefined, noticedMs),
          onDelivered: (bytes, nextSentAt) => {
            // After an interruption, the server sends all missed events at once, although they happened at different
            // times.
            received.receivedUntil(place, nextSentAt === openedAt ? (behindSince ?? nextSentAt) : nextSentAt);
            if (caller === 'manager') this.#unread.received(place, bytes);
            this.#isKilledNow(caller, peer);
          },
          onClose: close,
        });
      return { status: answer.status, headers: answer.headers, text: () => answer.text(), body };
    } catch (error) {
      close();
      throw error;
    }
  }

  #eventMs(caller: Caller): number {
    return caller === 'kubelets' ? this.#profile.kubeletMs : this.#profile.eventMs;
  }
}

function refusalFor(fault: RequestFault | undefined): TransportResponse | undefined {
  if (fault === 'conflict') return refusal(409, 'Conflict');
  if (fault === 'throttled') return refusal(429, 'TooManyRequests', { 'retry-after': String(RETRY_AFTER_SECONDS) });
  if (fault === 'internal') return refusal(500, 'InternalError');
  return undefined;
}

function refusal(code: number, reason: string, headers: Readonly<Record<string, string>> = {}): TransportResponse {
  const body = {
    apiVersion: 'v1',
    kind: 'Status',
    status: 'Failure',
    message: `${reason} by a simulated fault`,
    reason,
    code,
  };
  return answerOf(code, JSON.stringify(body), headers);
}
