import { type Machine, type MachineDeployment, parseTime } from '@mcm/api';
import {
  createInformer,
  errorText,
  type Informer,
  type InformerRuntime,
  type KubeClient,
  type Lease,
  leases,
} from '@mcm/kube';
import { CONTROLLER_NAMES, type ControllerHealth, ControllerObserver, notActing } from './health.ts';
import { CONTROL_PLANE, silentHealth } from './programs.ts';
import { ServerProof } from './server-proof.ts';

const AFTER_OUTAGE_MS = 15_000;
const JUST_LISTED_MS = 5_000;

export interface ControllerWatchOptions extends Omit<InformerRuntime, 'outage'> {
  readonly client: KubeClient;
  /** The namespace of the Leases. If `namespace` is undefined, the watch covers all namespaces. */
  readonly namespace: string | undefined;
  readonly signal: AbortSignal;
  readonly onChange: () => void;
  /**
   * After the start, mcm waits for this time before it reports a controller that has not renewed its Lease. The
   * default is 0.
   */
  readonly startingMs?: number;
}

/**
 * Watches the Leases of the controllers, and no other Leases. During an outage of the API server, no holder can renew
 * its Lease, so the last assessment stays valid. If the API server hangs, its watches stay open, so the server must
 * respond to a request before mcm reports a stopped controller.
 */
export class ControllerWatch {
  readonly #options: ControllerWatchOptions;
  readonly #informers: ReadonlyMap<string, Informer<Lease>>;
  readonly #observers = new Map<string, ControllerObserver>();
  readonly #known = new Map<string, readonly ControllerHealth[]>();
  readonly #failing = new Set<string>();
  readonly #proof: ServerProof;
  readonly #startedAt: number;
  readonly #assessedFrom: number;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #listedAt: number | undefined;

  constructor(options: ControllerWatchOptions) {
    this.#options = options;
    const { client, namespace, clock, random, log, startingMs = 0 } = options;
    this.#startedAt = clock.now().getTime();
    this.#assessedFrom = this.#startedAt + startingMs;
    const scope = { clock, random, log, namespace };
    this.#proof = new ServerProof(client, {
      clock,
      signal: options.signal,
      onAnswer: (late) => this.#noteAnswer(late),
    });
    this.#informers = new Map(
      CONTROLLER_NAMES.map((name) => {
        const outage = (_: string, failure: unknown): void => this.#noteOutage(name, failure !== undefined);
        const fieldSelector = `metadata.name=${name}`;
        return [name, createInformer<Lease>(client, leases, { ...scope, outage, fieldSelector })];
      }),
    );
  }

  #noteOutage(name: string, fails: boolean): void {
    if (fails) this.#failing.add(name);
    else if (this.#failing.delete(name)) {
      this.#answeredAt = this.#options.clock.now().getTime();
      this.#proof.noteAnswer();
    }
  }

  #noteAnswer(late: boolean): void {
    if (late) this.#answeredAt = this.#options.clock.now().getTime();
    this.#options.onChange();
  }

  /** Starts the watches, which end when the signal is aborted. */
  run(): void {
    const { onChange, signal } = this.#options;
    for (const informer of this.#informers.values()) {
      informer.onChange(onChange);
      informer.onRefused(onChange);
      void informer.run(signal);
    }
  }

  /** Resolves when all Leases were listed once. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.whenSynced(signal)));
  }

  get #isKnown(): boolean {
    return [...this.#informers.values()].every(({ synced, refused }) => synced || refused !== undefined);
  }

  namespaces(): ReadonlySet<string> {
    const all = [...this.#informers.values()].flatMap(({ store }) => store.list());
    return new Set(all.map(({ metadata }) => metadata.namespace ?? ''));
  }

  /** If a controller stops, no event occurs, so call `assess` at least every 2 s. */
  assess(
    namespace: string,
    objects: { readonly deployments: readonly MachineDeployment[]; readonly machines: readonly Machine[] },
  ): readonly ControllerHealth[] {
    const known = this.#known.get(namespace) ?? [];
    if (!this.#isKnown) return known;
    if (this.#isInterrupted()) return this.#proof.silentSince === undefined ? known : this.#silent();
    const now = this.#options.clock.now();
    this.#listedAt ??= now.getTime();
    const found = new Map<string, Lease>();
    const refused = new Map<string, string>();
    for (const [name, informer] of this.#informers) {
      const lease = informer.store.get(`${namespace}/${name}`);
      if (lease !== undefined) found.set(name, lease);
      if (informer.refused !== undefined) refused.set(name, errorText(informer.refused));
    }
    const observer = this.#observers.get(namespace) ?? new ControllerObserver();
    this.#observers.set(namespace, observer);
    const health = observer.assess({ leases: found, refused, ...objects }, now);
    if (now.getTime() < this.#assessedFrom) return health.filter(({ name }) => this.#hasStarted(found.get(name)));
    if (now.getTime() - this.#answeredAt < AFTER_OUTAGE_MS && known.length > 0) return known;
    const isListed = now.getTime() - this.#listedAt < JUST_LISTED_MS;
    if (!this.#proof.covers(namespace, notActing(health), isListed))
      return this.#proof.silentSince === undefined ? known : this.#silent();
    this.#known.set(namespace, health);
    return health;
  }

  #silent(): readonly ControllerHealth[] {
    return [silentHealth({ name: CONTROL_PLANE, since: this.#proof.silentSince ?? '' })];
  }

  #hasStarted(lease: Lease | undefined): boolean {
    const renewed = parseTime(lease?.spec?.renewTime ?? undefined);
    return renewed !== undefined && renewed.getTime() > this.#startedAt;
  }

  /** Returns true if the API server does not respond. A refused read proves that the API server is available. */
  #isInterrupted(): boolean {
    return [...this.#failing].some((name) => this.#informers.get(name)?.refused === undefined);
  }

  keep(namespaces: ReadonlySet<string>): void {
    for (const name of this.#known.keys()) {
      if (namespaces.has(name)) continue;
      this.#known.delete(name);
      this.#observers.delete(name);
    }
  }
}
