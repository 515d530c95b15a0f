import type { KubeClient, ResourceClient } from '../client.ts';
import { type Clock, pause } from '../clock.ts';
import { errorText } from '../error-text.ts';
import { isConflict, isNotFound, KubeError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { createOutageLog, type OutageLog } from '../outage-log.ts';
import type { Random } from '../random.ts';
import { type Lease, leases } from '../types/groups.ts';
import { Age, type Fence } from './fence.ts';
import { claim, type ElectionRecord, HOLDER_VERSION, holderVersion, readRecord, released, toSpec } from './record.ts';

/** Milliseconds; client-go's defaults are 15,000, 10,000 and 2000. */
export interface ElectionTimings {
  /** How long others wait, from when they saw the last renewal, before they take the Lease. */
  readonly leaseMs: number;
  /** How long a leader tries to renew before it stops. Less than `leaseMs`. */
  readonly renewDeadlineMs: number;
  /** Time between two tries. */
  readonly retryMs: number;
}

/** Timings of the election as client-go has them, in milliseconds. */
export const DEFAULT_ELECTION_TIMINGS: ElectionTimings = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2000 };

/** Which Lease is held, by whom, and how. */
export interface ElectionOptions {
  readonly client: KubeClient;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Unique to this process: two with the same would both lead. */
  readonly identity: string;
  readonly timings?: ElectionTimings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called whenever another leader is seen, with its version where it says so. */
  readonly onLeader?: (identity: string, version: string | undefined) => void;
  /** Of this program; told to the others with the Lease. */
  readonly version?: string;
}

/** `stopped`: the signal aborted or `lead` ended, and the Lease was released. `lost`: another leads, or may lead. */
export type ElectionEnd = 'stopped' | 'lost';

/** Tries to acquire follow each other after `retryMs` times 1 to 2.2, as client-go's JitterFactor has it. */
const ACQUIRE_JITTER = 1.2;
/** A release must not hold up the end of the process. */
const RELEASE_LIMIT_MS = 2000;

function checkTimings({ leaseMs, renewDeadlineMs, retryMs }: ElectionTimings): void {
  if (!(leaseMs > renewDeadlineMs)) {
    throw new RangeError(
      `leader election: the lease duration (${leaseMs} ms) must be longer than the renew deadline (${renewDeadlineMs} ms)`,
    );
  }
  if (!(renewDeadlineMs > retryMs * ACQUIRE_JITTER)) {
    throw new RangeError(
      `leader election: the renew deadline (${renewDeadlineMs} ms) must be longer than ${ACQUIRE_JITTER} times the retry period (${retryMs} ms)`,
    );
  }
}

class Candidate {
  readonly #options: ElectionOptions;
  readonly timings: ElectionTimings;
  readonly #resource: ResourceClient<Lease>;
  readonly outage: OutageLog;
  #lease: Lease | undefined;
  /** When the Lease was last seen to change, on our own clock: other clocks are not compared. */
  #observedAt = 0;
  /** When the Lease was last asked for with success: others wait for its duration from then at least. */
  #renewed: Age | undefined;
  #confirming: Promise<void> | undefined;

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.timings = options.timings ?? DEFAULT_ELECTION_TIMINGS;
    this.#resource = options.client.resource(leases, options.lease.namespace);
    this.outage = createOutageLog(`lease ${options.lease.namespace}/${options.lease.name}`, options.clock, options.log);
  }

  /** One try to take or renew. Throws `KubeError` when the API server could not be asked. */
  async tryOnce(signal: AbortSignal): Promise<'mine' | 'other'> {
    const record = await this.#look(signal);
    const mine = record?.holder === this.#options.identity;
    if (record !== undefined && record.holder !== '' && !mine && this.#isValid(record)) {
      this.#options.onLeader?.(record.holder, holderVersion(this.#lease, record.holder));
      return 'other';
    }
    await this.#write(claim(record, this.#options.identity, this.timings.leaseMs, this.#options.clock.now()), signal);
    return 'mine';
  }

  /** Renews what is known to be ours with one write. `other`: somebody took it. */
  async renew(signal: AbortSignal): Promise<'mine' | 'other'> {
    try {
      return await this.#renewKnown(signal);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      const record = await this.#look(signal);
      if (record === undefined || record.holder === this.#options.identity) return this.tryOnce(signal);
      // Whoever led in between, also one that has released it since, has changed what we know.
      this.#options.onLeader?.(record.holder, holderVersion(this.#lease, record.holder));
      return 'other';
    }
  }

  /** See `Fence`; a thousand that ask at once cost one write. */
  async confirm(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#isFresh()) return;
    this.#confirming ??= this.#renewStrictly(signal).finally(() => {
      this.#confirming = undefined;
    });
    await this.#confirming;
    signal.throwIfAborted();
  }

  #isFresh(): boolean {
    return this.#renewed !== undefined && this.#renewed.ms < this.timings.renewDeadlineMs;
  }

  /** Renews what nobody has touched since. A conflict is another's, unless our own renewal came in between. */
  async #renewStrictly(signal: AbortSignal): Promise<void> {
    const { identity, clock } = this.#options;
    const known = this.#lease === undefined ? undefined : readRecord(this.#lease);
    if (known?.holder !== identity) throw new Error('the lease is not ours');
    try {
      await this.#write(claim(known, identity, this.timings.leaseMs, clock.now()), signal);
    } catch (error) {
      if (!isConflict(error) || !this.#isFresh()) throw error;
    }
  }

  async release(): Promise<void> {
    const record = this.#lease === undefined ? undefined : readRecord(this.#lease);
    if (record?.holder !== this.#options.identity) return;
    try {
      await this.#write(released(record, this.#options.clock.now()), undefined);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // A renewal that was cut off has reached the server after all.
      const newest = await this.#look(undefined);
      if (newest?.holder === this.#options.identity) {
        await this.#write(released(newest, this.#options.clock.now()), undefined);
      }
    }
  }

  async #renewKnown(signal: AbortSignal): Promise<'mine' | 'other'> {
    const known = this.#lease === undefined ? undefined : readRecord(this.#lease);
    if (known?.holder !== this.#options.identity) return this.tryOnce(signal);
    await this.#write(claim(known, this.#options.identity, this.timings.leaseMs, this.#options.clock.now()), signal);
    return 'mine';
  }

  async #look(signal: AbortSignal | undefined): Promise<ElectionRecord | undefined> {
    try {
      const options = signal === undefined ? {} : { signal };
      this.#observe(await this.#resource.get(this.#options.lease.name, { ...options, onRetryAfter: 'throw' }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#lease = undefined;
    }
    return this.#lease === undefined ? undefined : readRecord(this.#lease);
  }

  #observe(lease: Lease): void {
    const changed = this.#lease === undefined || JSON.stringify(lease.spec) !== JSON.stringify(this.#lease.spec);
    this.#lease = lease;
    if (changed) this.#observedAt = this.#options.clock.monotonic();
  }

  #isValid(record: ElectionRecord): boolean {
    return this.#options.clock.monotonic() < this.#observedAt + record.leaseDurationSeconds * 1000;
  }

  async #write(record: ElectionRecord, signal: AbortSignal | undefined): Promise<void> {
    const options = { ...(signal === undefined ? {} : { signal }), onRetryAfter: 'throw' as const };
    const spec = toSpec(record);
    const { name } = this.#options.lease;
    const metadata = { ...this.#lease?.metadata, ...this.#annotations(record.holder) };
    const asked = new Age(this.#options.clock);
    this.#observe(
      this.#lease === undefined
        ? await this.#resource.create({ metadata: { ...metadata, name }, spec }, options)
        : await this.#resource.update(
            {
              ...this.#lease,
              metadata: { ...this.#lease.metadata, ...metadata },
              spec: { ...this.#lease.spec, ...spec },
            },
            options,
          ),
    );
    this.#renewed = record.holder === this.#options.identity ? asked : undefined;
  }

  /** Who leads says which version it is; a Lease that is released says nothing. */
  #annotations(holder: string): { readonly annotations?: Readonly<Record<string, string>> } {
    const { version, identity } = this.#options;
    if (version === undefined || holder !== identity) return {};
    return { annotations: { ...this.#lease?.metadata.annotations, [HOLDER_VERSION]: `${version} ${holder}` } };
  }
}

const isBeaten = (error: unknown): boolean => error instanceof KubeError && error.code === 409;

/** Tries until the Lease is ours; false when the signal aborted first. */
async function acquire(candidate: Candidate, options: ElectionOptions): Promise<boolean> {
  const { signal, clock, random } = options;
  while (!signal.aborted) {
    try {
      const answer = await candidate.tryOnce(signal);
      candidate.outage.worked();
      if (answer === 'mine') return true;
    } catch (error) {
      // A conflict says that another was faster, which the next look shows.
      if (!signal.aborted && !isBeaten(error)) candidate.outage.failed(error);
    }
    await pause(clock, candidate.timings.retryMs * (1 + ACQUIRE_JITTER * random.next()), signal);
  }
  return false;
}

/** Renews until the signal aborts (`stopped`) or the Lease is lost. A request that hangs counts as one that failed. */
async function keep(candidate: Candidate, options: ElectionOptions, signal: AbortSignal): Promise<ElectionEnd> {
  const { clock, log } = options;
  const { renewDeadlineMs, retryMs } = candidate.timings;
  const deadline = new AbortController();
  let timer = clock.setTimeout(() => deadline.abort(), renewDeadlineMs);
  const both = AbortSignal.any([signal, deadline.signal]);
  try {
    for (;;) {
      await pause(clock, retryMs, both);
      if (signal.aborted) return 'stopped';
      if (deadline.signal.aborted) {
        log.error('the lease was not renewed in time', { renewDeadlineMs });
        return 'lost';
      }
      // Others count from when the server took it, which may be long before its answer is here.
      const sentAt = clock.monotonic();
      try {
        if ((await candidate.renew(both)) === 'other') return 'lost';
        candidate.outage.worked();
        timer.cancel();
        timer = clock.setTimeout(() => deadline.abort(), renewDeadlineMs - (clock.monotonic() - sentAt));
      } catch (error) {
        if (!both.aborted) candidate.outage.failed(error);
      }
    }
  } finally {
    timer.cancel();
  }
}

async function release(candidate: Candidate, { clock, log }: ElectionOptions): Promise<void> {
  const limit = new AbortController();
  const late = pause(clock, RELEASE_LIMIT_MS, limit.signal);
  try {
    await Promise.race([candidate.release(), late]);
  } catch (error) {
    log.warn('the lease could not be released; others wait until it expires', { error: errorText(error) });
  }
  limit.abort();
}

/**
 * Runs `lead` while this process holds the Lease, with client-go's record and timing, so that its candidates and ours
 * elect one leader among them. The signal that `lead` gets aborts when the outer one does, and at the instant at which
 * the Lease is lost; the fence says whether that may have happened unseen. Errors of `lead` are thrown after the Lease was released.
 */
export async function runElected(
  options: ElectionOptions,
  lead: (signal: AbortSignal, fence: Fence) => Promise<void>,
): Promise<ElectionEnd> {
  const candidate = new Candidate(options);
  checkTimings(candidate.timings);
  const who = { lease: `${options.lease.namespace}/${options.lease.name}`, identity: options.identity };
  options.log.info('waiting for the lease', who);
  if (!(await acquire(candidate, options))) return 'stopped';
  options.log.info('leading', who);
  const term = new AbortController();
  const over = new AbortController();
  const follow = (): void => term.abort(options.signal.reason);
  options.signal.addEventListener('abort', follow, { once: true });
  if (options.signal.aborted) follow();
  const kept = keep(candidate, options, over.signal).then((end) => {
    if (end === 'lost') term.abort(new Error('the lease was lost'));
    return end;
  });
  try {
    // The Lease is renewed until the last step of the work has ended: nobody starts while we still write.
    await lead(term.signal, { confirm: () => candidate.confirm(term.signal) });
  } finally {
    options.signal.removeEventListener('abort', follow);
    over.abort();
    if ((await kept) === 'stopped') await release(candidate, options);
  }
  return kept;
}
