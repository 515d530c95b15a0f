import { withoutUndefined } from '../base/defined.ts';
import { createOutageLog, type OutageLog } from '../base/outage-log.ts';
import type { Timer } from '../clock/clock.ts';
import type { ResourceClient } from '../contract/client.ts';
import { isConflict, isForbidden, isNotFound } from '../contract/errors.ts';
import { versionNumber } from '../contract/versions.ts';
import { type Lease, leases } from '../types/groups.ts';
import { LeaseAnnotations } from '../types/lease-annotations.ts';
import { Age } from './fence.ts';
import { claim, type ElectionRecord, holderVersion, readRecord, released, toSpec } from './record.ts';
import { DEFAULT_ELECTION_TIMINGS, type ElectionOptions, type ElectionTimings } from './settings.ts';
import { leaseVacancies, vacancyAnnotation } from './vacancies.ts';

export type Pace = Pick<ElectionTimings, 'leaseMs' | 'renewDeadlineMs'>;

/** A process that takes part in the leader election. */
export class Candidate {
  readonly #options: ElectionOptions;
  readonly timings: ElectionTimings;
  readonly #resource: ResourceClient<Lease>;
  readonly outage: OutageLog;
  #lease: Lease | undefined;
  #observedAt = 0;
  #renewed: Age | undefined;
  #pace: Pace;
  #limits: readonly { readonly sent: Age; readonly deadlineMs: number }[] = [];
  #holds = false;
  #confirming: Promise<void> | undefined;
  #follows: boolean;

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.timings = options.timings ?? DEFAULT_ELECTION_TIMINGS;
    this.#pace = this.timings;
    this.#resource = options.client.resource(leases, options.lease.namespace);
    this.#follows = options.follow ?? false;
    this.outage = createOutageLog(`lease ${options.lease.namespace}/${options.lease.name}`, options.clock, options.log);
  }

  /** Tries once to acquire the Lease, and returns whether this process or another process holds the Lease. */
  async tryOnce(signal: AbortSignal): Promise<'mine' | 'other'> {
    const record = await this.#look(signal);
    const mine = record?.holder === this.#options.identity;
    if (record !== undefined && record.holder !== '' && !mine && this.#validForMs(record) > 0) {
      this.#options.onLeader?.(record.holder, holderVersion(this.#lease, record.holder));
      return 'other';
    }
    await this.#write(claim(record, this.#options.identity, this.#pace.leaseMs, this.#options.clock.now()), signal);
    return 'mine';
  }

  /** Renews the Lease, and returns `other` if another candidate has acquired it. */
  async renew(signal: AbortSignal, pace: Pace = this.timings): Promise<'mine' | 'other'> {
    this.#pace = pace;
    try {
      return await this.#renewKnown(signal);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      const written = this.#lease?.metadata.resourceVersion;
      const record = await this.#look(signal);
      this.#compare(written, this.#lease?.metadata.resourceVersion);
      if (record === undefined || record.holder === this.#options.identity) return this.tryOnce(signal);
      // Another process was the leader in the meantime, so the caches of this process may be outdated.
      this.#options.onLeader?.(record.holder, holderVersion(this.#lease, record.holder));
      return 'other';
    }
  }

  /**
   * Reports a restore of the API server if the found version of the Lease is older than the version that this process
   * wrote.
   */
  #compare(written: string | undefined, found: string | undefined): void {
    if (written === undefined || found === undefined || !(versionNumber(found) < versionNumber(written))) return;
    const { client, lease } = this.#options;
    client.history.wentBack(
      `the API server returned version ${found} of Lease ${lease.namespace}/${lease.name}, although the process wrote version ${written}`,
    );
  }

  async confirm(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    // If the process was suspended during a renewal, the renewed Lease may have expired before the response arrived.
    while (!this.#isFresh()) {
      this.#confirming ??= this.#renewStrictly(signal).finally(() => {
        this.#confirming = undefined;
      });
      await this.#confirming;
      signal.throwIfAborted();
    }
  }

  #isFresh(): boolean {
    return this.#renewed !== undefined && this.#limits.every(({ sent, deadlineMs }) => sent.ms < deadlineMs);
  }

  async #renewStrictly(signal: AbortSignal): Promise<void> {
    const { identity, clock } = this.#options;
    const known = this.#lease === undefined ? undefined : readRecord(this.#lease);
    if (known?.holder !== identity) throw new Error('another process holds the Lease');
    try {
      await this.#write(claim(known, identity, this.#pace.leaseMs, clock.now()), signal);
    } catch (error) {
      // The failed renewal does not matter if another renewal of this process has succeeded in the meantime.
      if (!this.#isFresh()) throw error;
    }
  }

  async follow(signal: AbortSignal): Promise<boolean> {
    if (!this.#follows || this.#lease === undefined) return false;
    const { clock, lease } = this.#options;
    const expired = new AbortController();
    const expiry = (held: Lease): Timer => clock.setTimeout(() => expired.abort(), this.#validForMs(readRecord(held)));
    const began = clock.monotonic();
    let timer = expiry(this.#lease);
    try {
      const events = this.#resource.watch({
        fieldSelector: `metadata.name=${lease.name}`,
        resourceVersion: this.#lease.metadata.resourceVersion,
        signal: AbortSignal.any([signal, expired.signal]),
      });
      for await (const event of events) {
        if (event.type === 'BOOKMARK') continue;
        // A deleted Lease is not free, because an active leader creates the Lease again at its next renewal.
        if (event.type === 'DELETED') return false;
        if (!this.#seesHolder(event.object)) return true;
        timer.cancel();
        timer = expiry(event.object);
      }
      // API servers end watches after some minutes.
      return clock.monotonic() - began > this.timings.retryMs;
    } catch (error) {
      if (expired.signal.aborted) return true;
      if (isForbidden(error)) this.#follows = false;
      return false;
    } finally {
      timer.cancel();
    }
  }

  #seesHolder(lease: Lease): boolean {
    this.#observe(lease);
    const { holder } = readRecord(lease);
    if (holder === '' || holder === this.#options.identity) return false;
    this.#options.onLeader?.(holder, holderVersion(lease, holder));
    return true;
  }

  async release(): Promise<void> {
    const record = this.#lease === undefined ? undefined : readRecord(this.#lease);
    if (record?.holder !== this.#options.identity) return;
    try {
      await this.#write(released(record, this.#options.clock.now()), undefined);
    } catch (error) {
      if (!isConflict(error)) throw error;
      const newest = await this.#look(undefined);
      if (newest?.holder === this.#options.identity) {
        await this.#write(released(newest, this.#options.clock.now()), undefined);
      }
    }
  }

  async #renewKnown(signal: AbortSignal): Promise<'mine' | 'other'> {
    const known = this.#lease === undefined ? undefined : readRecord(this.#lease);
    if (known?.holder !== this.#options.identity) return this.tryOnce(signal);
    await this.#write(claim(known, this.#options.identity, this.#pace.leaseMs, this.#options.clock.now()), signal);
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
    const spec = JSON.stringify(lease.spec);
    const changed = this.#lease === undefined || spec !== JSON.stringify(this.#lease.spec);
    this.#lease = lease;
    if (!changed) return;
    const earlier = this.#options.observed?.();
    this.#observedAt = earlier?.spec === spec ? earlier.atMs : this.#options.clock.monotonic();
  }

  #validForMs({ leaseDurationSeconds }: ElectionRecord): number {
    return this.#observedAt + leaseDurationSeconds * 1000 - this.#options.clock.monotonic();
  }

  async #write(record: ElectionRecord, signal: AbortSignal | undefined): Promise<void> {
    const options = { signal, onRetryAfter: 'throw' as const };
    const spec = toSpec(record);
    const { name } = this.#options.lease;
    const metadata = {
      ...this.#lease?.metadata,
      ...this.#annotations(record),
      ...this.#finalizers(record.holder),
    };
    const asked = new Age(this.#options.clock);
    const limit = { sent: asked, deadlineMs: this.#pace.renewDeadlineMs };
    this.#limits = [...this.#limits, limit];
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
    this.#limits = [limit];
    if (!this.#holds) this.#options.client.history.noteVacancies(leaseVacancies(this.#lease));
    this.#holds = this.#renewed !== undefined;
  }

  /** The API server refuses a new finalizer while it deletes the Lease. */
  #finalizers(holder: string): { readonly finalizers?: string[] } {
    const { finalizer, identity } = this.#options;
    if (finalizer === undefined) return {};
    const { finalizers = [], deletionTimestamp } = this.#lease?.metadata ?? {};
    const others = finalizers.filter((name) => name !== finalizer.name);
    const allowed = deletionTimestamp === undefined || others.length < finalizers.length;
    const wanted = allowed && (holder === identity || finalizer.kept());
    return { finalizers: wanted ? [...others, finalizer.name] : others };
  }

  #annotations({ holder, transitions }: ElectionRecord): {
    readonly annotations?: Readonly<Record<string, string>>;
  } {
    const { version, settings, annotations, identity, clock, releasedAs } = this.#options;
    if (holder !== identity) {
      const mark = releasedAs?.();
      if (mark === undefined) return {};
      return { annotations: { ...this.#lease?.metadata.annotations, [mark]: String(transitions) } };
    }
    const former = this.#lease;
    const isOurs = former === undefined || readRecord(former).holder === identity;
    const added = {
      ...annotations,
      ...(isOurs ? {} : vacancyAnnotation(former, clock.now())),
      ...withoutUndefined({
        [LeaseAnnotations.HolderVersion]: version === undefined ? undefined : `${version} ${holder}`,
        [LeaseAnnotations.HolderSettings]: settings === undefined ? undefined : `${holder} ${JSON.stringify(settings)}`,
      }),
    };
    if (Object.keys(added).length === 0) return {};
    return { annotations: { ...this.#lease?.metadata.annotations, ...added } };
  }
}
