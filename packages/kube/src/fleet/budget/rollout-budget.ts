import { type BackoffOptions, backoffMs } from '../../base/backoff.ts';
import { createOutageLog, type OutageLog } from '../../base/outage-log.ts';
import type { Timer } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import { isConflict } from '../../contract/errors.ts';
import type { Informer } from '../../contract/informer.ts';
import { createInformer, type InformerRuntime } from '../../informer/create-informer.ts';
import { type ConfigMap, configMaps } from '../../types/core.ts';
import { LeaseAnnotations } from '../../types/lease-annotations.ts';
import { type BudgetDecision, decideBudget, type Hold, isQuiet } from './decide.ts';
import type { LapsedLeases } from './lapsed-leases.ts';
import { ClusterPermit, type RolloutPermit } from './permit.ts';
import { type BudgetPolicy, isCanary, limitOf, policyOf } from './policy.ts';
import { type BudgetRecord, type Canary, readRecord, recordText } from './record.ts';

export interface BudgetCluster {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
}

export interface RolloutBudgetOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly clusters: () => readonly BudgetCluster[];
  readonly leases: LapsedLeases;
  readonly runtime: InformerRuntime;
}

export interface BudgetStatus {
  readonly object: string;
  readonly problem: string;
  readonly limit: number;
  readonly claims: readonly string[];
  readonly canaries: Readonly<Record<string, Canary['state']>>;
  readonly waiting: Readonly<Record<string, Hold>>;
}

interface Readable {
  readonly object: ConfigMap;
  readonly policy: BudgetPolicy;
  readonly record: BudgetRecord;
}

const RETRY: BackoffOptions = { baseMs: 500, maxMs: 30_000, jitter: 0.5 };

/** Applies the rollout budget of a fleet to the clusters of this replica. */
export class RolloutBudget {
  readonly #o: RolloutBudgetOptions;
  readonly #informer: Informer<ConfigMap>;
  readonly #permits = new Map<string, ClusterPermit>();
  readonly #outage: OutageLog;
  #seen = '';
  #quietSince: number | undefined;
  #wake: () => void = () => undefined;
  #dirty = true;

  constructor(options: RolloutBudgetOptions) {
    this.#o = options;
    const { client, namespace, name, runtime } = options;
    this.#outage = createOutageLog(`the update of ConfigMap ${namespace}/${name}`, runtime.clock, runtime.log);
    const fieldSelector = `metadata.name=${name}`;
    this.#informer = createInformer<ConfigMap>(client, configMaps, { ...runtime, namespace, fieldSelector });
    this.#informer.onChange(() => this.#onChange());
  }

  open(cluster: string, identity: string): RolloutPermit & { close(): void } {
    const permit = new ClusterPermit({
      cluster,
      identity,
      nowMs: () => this.#o.runtime.clock.monotonic(),
      changed: () => this.#look(),
      claimId: () => this.#read()?.record.claims.get(cluster)?.id,
      because: (hold) => this.#because(hold),
    });
    this.#permits.set(cluster, permit);
    this.#look();
    const close = (): void => {
      if (this.#permits.get(cluster) === permit) this.#permits.delete(cluster);
    };
    return {
      hold: () => permit.hold(),
      report: (rollout, needs) => permit.report(rollout, needs),
      forget: (rollout) => permit.forget(rollout),
      onChange: (listener) => permit.onChange(listener),
      close,
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#informer.run(signal), this.#loop(signal)]);
  }

  status(): BudgetStatus {
    const read = this.#read();
    return {
      object: this.#object,
      problem: this.#problem() ?? '',
      limit: read === undefined ? 0 : limitOf(read.policy, this.#o.clusters().length),
      claims: [...(read?.record.claims.keys() ?? [])].sort(),
      canaries: Object.fromEntries([...(read?.record.canaries ?? [])].map(([name, { state }]) => [name, state])),
      waiting: Object.fromEntries(
        [...this.#permits].flatMap(([name, { waitsFor }]) => (waitsFor === undefined ? [] : [[name, waitsFor]])),
      ),
    };
  }

  get #object(): string {
    return `ConfigMap ${this.#o.namespace}/${this.#o.name}`;
  }

  get #stored(): ConfigMap | undefined {
    return this.#informer.store.list()[0];
  }

  #read(): Readable | undefined {
    const object = this.#stored;
    if (object === undefined) return undefined;
    if (this.#parsed?.object === object) return this.#parsed.read;
    const policy = policyOf(object.data);
    const record = readRecord(object.metadata.annotations?.[LeaseAnnotations.FleetRollouts]);
    const read = typeof policy === 'string' || record === undefined ? undefined : { object, policy, record };
    this.#parsed = { object, read };
    return read;
  }

  #parsed: { readonly object: ConfigMap; readonly read: Readable | undefined } | undefined;

  #problem(): string | undefined {
    const object = this.#stored;
    if (object === undefined) {
      if (!this.#informer.synced) return `${this.#object} has not been read yet`;
      return `${this.#object} does not exist; create the rollout budget`;
    }
    const policy = policyOf(object.data);
    if (typeof policy === 'string') return `${this.#object}: ${policy}`;
    if (this.#read() !== undefined) return undefined;
    return `${this.#object}: the annotation ${LeaseAnnotations.FleetRollouts} is invalid; remove the annotation`;
  }

  /**
   * The reason of a wait contains no numbers and no names of other clusters, because each change causes a write for
   * each rollout.
   */
  #because(hold: Hold | undefined): string {
    const problem = this.#problem();
    if (problem !== undefined) return `waiting: ${problem}`;
    if (hold === 'canaries')
      return `waiting: a canary cluster of the rollout budget (${this.#object}) has not completed its rollout`;
    if (hold === 'soak') return `waiting: the soak time of the rollout budget (${this.#object}) has not ended`;
    return `waiting: other clusters use all claims of the rollout budget (${this.#object})`;
  }

  #onChange(): void {
    const read = this.#read();
    if (read !== undefined) {
      const canaries = this.#isCanary(read.policy);
      const seen = JSON.stringify([...read.record.canaries].filter(([name]) => canaries(name)));
      if (!isQuiet(read.record, canaries)) this.#quietSince = undefined;
      else if (this.#quietSince === undefined || seen !== this.#seen)
        this.#quietSince = this.#o.runtime.clock.monotonic();
      this.#seen = seen;
    }
    this.#look();
    for (const permit of this.#permits.values()) permit.tell();
  }

  #isCanary(policy: BudgetPolicy): (cluster: string) => boolean {
    const names = new Set(this.#o.clusters().flatMap(({ name, labels }) => (isCanary(policy, labels) ? [name] : [])));
    return (cluster) => names.has(cluster);
  }

  #look(): void {
    this.#dirty = true;
    this.#wake();
  }

  async #loop(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      this.#dirty = false;
      try {
        const lookAgainMs = await this.#step(signal);
        if (failures > 0) this.#outage.worked();
        failures = 0;
        await this.#rest(lookAgainMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        if (!isConflict(error)) this.#outage.failed(error);
        await this.#rest(backoffMs(RETRY, failures, this.#o.runtime.random), signal);
      }
    }
  }

  #rest(ms: number | undefined, signal: AbortSignal): Promise<void> {
    if (this.#dirty || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      const done = (): void => {
        timer?.cancel();
        signal.removeEventListener('abort', done);
        this.#wake = () => undefined;
        resolve();
      };
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
      if (ms !== undefined) timer = this.#o.runtime.clock.setTimeout(done, Math.max(ms, 1));
    });
  }

  async #step(signal: AbortSignal): Promise<number | undefined> {
    const read = this.#read();
    const { leases, runtime } = this.#o;
    // Until the process has found the clusters of the fleet, it removes no claims.
    if (read === undefined || this.#o.clusters().length === 0) {
      for (const permit of this.#permits.values()) permit.tell();
      return undefined;
    }
    leases.note(read.record.claims);
    let decision = this.#decide(read, () => false);
    const short = [...decision.holds.values()].includes('budget');
    if (short) {
      const lapsed = await leases.lapsed(read.record.claims, signal);
      if (lapsed.size > 0) decision = this.#decide(read, (name) => lapsed.has(name) && !this.#permits.has(name));
    }
    for (const name of decision.released) this.#permits.get(name)?.released();
    for (const [name, permit] of this.#permits) permit.decided(decision.holds.get(name));
    await this.#write(read, decision.record, signal);
    for (const permit of this.#permits.values()) permit.tell();
    const now = runtime.clock.monotonic();
    const looks = [
      decision.lookAgainMs,
      short ? leases.nextLapseMs(read.record.claims) : undefined,
      ...[...this.#permits.values()].map(({ knownAtMs }) => (knownAtMs > now ? knownAtMs : undefined)),
    ].filter((time) => time !== undefined);
    return looks.length === 0 ? undefined : Math.min(...looks) - now;
  }

  #decide({ policy, record }: Readable, lapsed: (cluster: string) => boolean): BudgetDecision {
    const { clusters, runtime } = this.#o;
    const all = clusters();
    const names = new Set(all.map(({ name }) => name));
    const canary = this.#isCanary(policy);
    return decideBudget({
      record,
      locals: [...this.#permits].map(([name, permit]) => permit.local(canary(name))),
      limit: limitOf(policy, all.length),
      exists: (name) => names.has(name),
      lapsed,
      isCanary: canary,
      anyCanary: all.some(({ name }) => canary(name)),
      soakMs: policy.soakMs,
      quietSince: this.#quietSince,
      nowMs: runtime.clock.monotonic(),
      at: runtime.clock.now().toISOString(),
    });
  }

  /** @throws a conflict if another process has changed the ConfigMap */
  async #write({ object, record }: Readable, next: BudgetRecord, signal: AbortSignal): Promise<void> {
    const text = recordText(next);
    if (text === recordText(record)) return;
    const { client, namespace, name } = this.#o;
    const { uid, resourceVersion } = object.metadata;
    const annotations = { [LeaseAnnotations.FleetRollouts]: text };
    const body = { metadata: { uid, resourceVersion, annotations } };
    const written = await client
      .resource<ConfigMap>(configMaps, namespace)
      .patch(name, { type: 'merge', body }, { signal });
    this.#informer.recordWrite(written);
  }
}
