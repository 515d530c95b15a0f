import type { Machine } from '@mcm/api';
import type { Reporter } from '@mcm/conformance/fleet';
import type { Change, Clock, Node, Pod } from '@mcm/kube';
import type { Instance } from '@mcm/provider-local';
import { BOUNDS } from '../record/bounds.ts';
import type { ApiCache } from './api-cache.ts';
import type { App } from './apps.ts';
import { HealthVerifier } from './health-verifier.ts';

export const OTHER_FINALIZER = 'example.com/other';
export const hasOtherFinalizer = ({ metadata }: Machine): boolean =>
  metadata.finalizers?.includes(OTHER_FINALIZER) ?? false;

const label = ({ metadata }: Machine, key: string): string | undefined => metadata.labels?.[key];
export const isForced = (machine: Machine): boolean =>
  /^(1|t|T|TRUE|true|True)$/.test(label(machine, 'force-deletion') ?? '');
const millis = (text: string | null | undefined): number => (text ? new Date(text).getTime() : Number.NaN);
const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

export interface OracleOptions {
  readonly clock: Clock;
  readonly cache: ApiCache;
  readonly reporter: Reporter;
  readonly apps: ReadonlyMap<string, App>;
  readonly drainTimeoutMs: number;
  readonly instances: () => Iterable<Instance>;
  readonly usersOf: (volume: string) => readonly string[];
  readonly lagMs: (...kinds: readonly string[]) => number;
  /** Returns for how many milliseconds the caches may be outdated before the controller notices it. */
  readonly unnoticedLagMs: (...kinds: readonly string[]) => number;
  readonly healthTimeoutMs: number;
}

/**
 * Verifies the rules for machines with the objects of the API server, the VMs, and the requests of controllers. The
 * verifier and the controllers share no code.
 */
export class MachineVerifier {
  readonly #o: OracleOptions;
  readonly #boundAt = new Map<string, number>();
  readonly #volumePodGoneAt = new Map<string, number>();
  readonly #attachedAt = new Map<string, number>();
  readonly #unready = new Map<string, { readonly since: number; readonly until: number }>();
  readonly #schedulableSince = new Map<string, number>();
  readonly #orphanCordonedAt = new Map<string, number>();
  readonly #drainableSince = new Map<string, number>();
  readonly #asked = new Set<string>();
  readonly #lost = new Set<string>();
  readonly #lostAt = new Map<string, number>();
  readonly #shared = new Set<string>();
  readonly #released = new Set<string>();
  readonly #lostNodes = new Set<string>();
  #aheadMs = 0;
  #backMs = 0;
  #secretWasBroken = false;

  constructor(options: OracleOptions) {
    this.#o = options;
    const { cache } = options;
    cache.pods.onChange((change) => this.#pod(change));
    cache.attachments.onChange(({ type, object }) => {
      if (type === 'added') this.#attachedAt.set(object.spec.nodeName, this.#now());
    });
    cache.nodes.onChange(({ type, object }) => this.#node(object, type === 'deleted'));
    cache.machines.onChange((change) => this.#machine(change));
    new HealthVerifier({
      clock: options.clock,
      cache,
      healthTimeoutMs: options.healthTimeoutMs,
      violate: (text) => this.#violate('j', text),
      lagMs: options.lagMs,
      unnoticedLagMs: options.unnoticedLagMs,
      jumpMs: () => this.#aheadMs + this.#backMs,
    });
  }

  #now(): number {
    return this.#o.clock.now().getTime();
  }

  #violate(rule: string, text: string): void {
    this.#o.reporter.violate(`(${rule}) ${text}`);
  }

  /** Must be called before a Machine is deleted without its VM. */
  loses({ metadata: { name, uid, labels } }: Machine): void {
    this.#lost.add(uid);
    this.#lostAt.set(name, this.#now());
    this.#lostNodes.add(labels?.node ?? name);
  }

  isLostNode(name: string): boolean {
    return this.#lostNodes.has(name);
  }

  /** Must be called before another controller removes its finalizer from a machine. */
  otherFinalizerGoes(uid: string): void {
    this.#released.add(uid);
  }

  /** Rule (b): mcm keeps the finalizers of other controllers. */
  #verifyFinalizers({ type, object }: Change<Machine>): void {
    const { uid, name } = object.metadata;
    const had = this.#shared.has(uid);
    const has = type !== 'deleted' && hasOtherFinalizer(object);
    if (has) this.#shared.add(uid);
    else this.#shared.delete(uid);
    if (had && !has && !this.#released.has(uid))
      this.#violate('b', `mcm removed the finalizer of another controller from machine ${name}`);
  }

  get hasLost(): boolean {
    return this.#lost.size > 0;
  }

  clockGoesAhead(ms: number): void {
    this.#aheadMs = Math.max(this.#aheadMs, ms);
    this.#backMs = Math.max(this.#backMs, -ms);
  }

  /** Must be called before the Secret of the classes becomes unusable. */
  secretBreaks(): void {
    this.#secretWasBroken = true;
  }

  #node({ metadata: { name }, spec, status }: Node, isGone: boolean): void {
    if (isGone || spec.unschedulable) this.#schedulableSince.delete(name);
    else if (!this.#schedulableSince.has(name)) this.#schedulableSince.set(name, this.#now());
    if (!spec.unschedulable) this.#orphanCordonedAt.delete(name);
    else if (this.#lostNodes.has(name) && !this.#orphanCordonedAt.has(name))
      this.#orphanCordonedAt.set(name, this.#now());
    const condition = status?.conditions?.find(({ type }) => type === 'Ready');
    const ready = condition?.status === 'True';
    const { since = this.#now(), until = 0 } = this.#unready.get(name) ?? {};
    const wasReady = until !== Number.POSITIVE_INFINITY;
    if (ready && !wasReady) this.#unready.set(name, { since, until: this.#now() });
    if (ready || !wasReady) return;
    // The health timeout starts at the last transition time of the condition.
    const changedAt = millis(condition?.lastTransitionTime) || this.#now();
    this.#unready.set(name, { since: Math.min(changedAt, this.#now()), until: Number.POSITIVE_INFINITY });
  }

  #machine(change: Change<Machine>): void {
    const { reporter } = this.#o;
    const { object } = change;
    const { name } = object.metadata;
    const phase = object.status?.currentStatus?.phase || 'new';
    if (change.type === 'added') reporter.note('state', `machine ${name} appeared`);
    this.#verifyFinalizers(change);
    if (change.type === 'deleted') this.#gone(object);
    if (change.type !== 'updated') return;
    this.#noteDrainable(object);
    const before = change.old.status?.currentStatus?.phase || 'new';
    if (before !== phase) reporter.note('state', `machine ${name}: ${before} → ${phase}`);
    const said = object.status?.lastOperation?.description ?? '';
    if (said !== change.old.status?.lastOperation?.description)
      reporter.note('state', `machine ${name} reports: ${said}`);
  }

  #noteDrainable({ metadata: { uid, deletionTimestamp }, spec, status }: Machine): void {
    const held = status?.lastOperation?.description?.includes('too many machines') ?? false;
    if (!deletionTimestamp || !spec.providerID || held) this.#drainableSince.delete(uid);
    else if (!this.#drainableSince.has(uid)) this.#drainableSince.set(uid, this.#now());
  }

  asksToEvict(pod: Pod): void {
    this.#asked.add(pod.metadata.uid);
  }

  /**
   * Rule (c): before the timeout, the controller must request the eviction of each unprotected pod that it later
   * deletes.
   */
  #verifyNeverRequested(machine: Machine, pod: Pod): void {
    const { name, uid } = pod.metadata;
    const app = this.#o.apps.get(pod.metadata.labels?.app ?? '');
    const free = app !== undefined && app.minAvailable === undefined && !app.volumes;
    if (!free || this.#asked.has(uid)) return;
    const since = Math.max(
      this.#drainableSince.get(machine.metadata.uid) ?? Number.POSITIVE_INFINITY,
      this.#boundAt.get(uid) ?? Number.POSITIVE_INFINITY,
    );
    if (!isForced(machine) && this.#now() > since + BOUNDS.unresponsive.ms + this.#o.lagMs('pods', 'machines')) {
      this.#violate('c', `mcm force-deletes pod ${name} on ${pod.spec.nodeName} without an earlier eviction request`);
    }
  }

  #isForcedNode(node: string): boolean {
    const machine = this.#o.cache.machines.store.list().find((each) => label(each, 'node') === node);
    return machine !== undefined && isForced(machine);
  }

  /** Rule (b): a Machine may disappear only after its VM. */
  #gone(machine: Machine): void {
    const { name, uid } = machine.metadata;
    this.#o.reporter.note('state', `machine ${name} no longer exists`);
    if (this.#lost.has(uid)) return;
    // If the Secret is not usable, `force-deletion` deletes a Machine although its VM may still exist.
    if (this.#secretWasBroken && isForced(machine) && machine.spec.providerID === undefined) {
      this.loses(machine);
      return;
    }
    const left = [...this.#o.instances()].find(
      ({ clientToken, state }) => clientToken === uid && state !== 'terminated' && state !== 'shutting-down',
    );
    if (left) this.#violate('b', `Machine ${name} no longer exists, but its VM ${left.id} is ${left.state}`);
  }

  #pod(change: Change<Pod>): void {
    const { object } = change;
    const { uid, name } = object.metadata;
    const node = object.spec.nodeName;
    if (node && !this.#boundAt.has(uid)) this.#boundAt.set(uid, this.#now());
    if (change.type === 'deleted' && node && this.#o.cache.volumesOf(object).length > 0) {
      this.#volumePodGoneAt.set(node, this.#now());
    }
    if (change.type === 'updated' && isReady(object) && !isReady(change.old)) this.#startedHere(object, name);
  }

  /** Rule (e): a pod must not start while its volume is attached to two nodes, or is mounted on another node. */
  #startedHere(pod: Pod, name: string): void {
    for (const volume of this.#o.cache.volumesOf(pod)) {
      const elsewhere = this.#o.cache.attachments.store
        .byIndex('volume', volume)
        .filter(({ spec }) => spec.nodeName !== pod.spec.nodeName);
      if (elsewhere.length > 0)
        this.#violate('e', `pod ${name} runs while volume ${volume} is also attached to another node`);
      const users = this.#o.usersOf(volume).filter((node) => node !== pod.spec.nodeName && !this.#isForcedNode(node));
      if (users.length > 0) this.#violate('e', `pod ${name} runs while ${volume} is mounted on ${users}`);
    }
  }

  /** Rule (a): a machine never has two VMs. */
  countVms(): void {
    const living = new Map<string, string>();
    for (const { id, name, state } of this.#o.instances()) {
      if (state === 'terminated' || state === 'shutting-down') continue;
      const other = living.get(name);
      if (other !== undefined) this.#violate('a', `machine ${name} has two VMs: ${other} and ${id}`);
      living.set(name, id);
    }
  }

  #mayForce(machine: Machine): boolean {
    const deleted = millis(machine.metadata.deletionTimestamp);
    const now = this.#now() + this.#aheadMs + BOUNDS.slack.ms;
    if (isForced(machine)) return true;
    if (now >= deleted + this.#o.drainTimeoutMs) return true;
    const { nodes } = this.#o.cache;
    const node = label(machine, 'node') ?? '';
    return nodes.store.get(node) === undefined || this.#isUnresponsive(node);
  }

  #mayForceOrphan(node: string): boolean {
    const cordonedAt = this.#orphanCordonedAt.get(node) ?? Number.POSITIVE_INFINITY;
    const isOverdue = this.#now() + this.#aheadMs + BOUNDS.slack.ms >= cordonedAt + BOUNDS.orphanDrain.ms;
    return isOverdue || this.#isUnresponsive(node);
  }

  /** Returns true if the controller may consider a Node as unreachable. */
  #isUnresponsive(node: string): boolean {
    const { since, until } = this.#unready.get(node) ?? { since: Number.POSITIVE_INFINITY, until: 0 };
    const now = this.#now() + this.#aheadMs + BOUNDS.slack.ms;
    return until > this.#now() - this.#o.lagMs('nodes') && now >= since + BOUNDS.unresponsive.ms;
  }

  /** Must be called before a VM is deleted, for the rules (c) and (e). */
  beforeVmDeletion(id: string): void {
    const instance = [...this.#o.instances()].find((each) => each.id === id);
    if (instance?.state !== 'running') return;
    const { cache } = this.#o;
    const machine = cache.machines.store.list().find(({ metadata }) => metadata.uid === instance.clientToken);
    if (!machine) {
      this.#verifyOrphan(instance);
      return;
    }
    const { name, deletionTimestamp } = machine.metadata;
    if (!deletionTimestamp) {
      // A Machine has no provider ID while mcm creates its VM, so every VM of this name counts as its VM.
      const own = machine.spec.providerID === undefined || machine.spec.providerID.endsWith(`/${id}`);
      if (own) this.#violate('c', `mcm deletes the VM of ${name}, but nothing requested the deletion of the machine`);
      return;
    }
    if (this.#mayForce(machine)) return;
    const node = label(machine, 'node') ?? instance.name;
    const since =
      this.#now() - this.#o.lagMs('pods', 'volumeattachments', 'persistentvolumes', 'persistentvolumeclaims');
    const left = cache.pods.store
      .byIndex('node', node)
      .filter((pod) => !hasEnded(pod) && (this.#boundAt.get(pod.metadata.uid) ?? 0) < since)
      .map(({ metadata }) => metadata.name);
    if (left.length > 0)
      this.#violate('c', `mcm deletes the VM of ${name} before the drain deadline, while the pods ${left} still run`);
    const goneAt = this.#volumePodGoneAt.get(node) ?? 0;
    const attached = cache.attachments.store.byIndex('node', node).map(({ spec }) => spec.source.persistentVolumeName);
    if (
      attached.length > 0 &&
      this.#now() + this.#aheadMs < goneAt + BOUNDS.detached.ms &&
      (this.#attachedAt.get(node) ?? 0) < since
    ) {
      this.#violate('e', `mcm deletes the VM of ${name} while the volumes ${attached} are attached`);
    }
  }

  /**
   * Rule (c): mcm drains a VM without a Machine until the drain timeout. If the Node is gone or NotReady, mcm may
   * delete the VM earlier.
   */
  #verifyOrphan({ name }: Instance): void {
    const { nodes, pods } = this.#o.cache;
    const lagMs = this.#o.lagMs('pods', 'nodes', 'machines');
    const lostMs = this.#now() - (this.#lostAt.get(name) ?? Number.NEGATIVE_INFINITY);
    // The simulation deletes a Machine before it removes the finalizers. Until the controller notices the removal, it
    // may delete the VM as usual.
    const isSeen = lostMs > this.#o.lagMs('machines');
    if (isSeen && lostMs + this.#aheadMs + this.#backMs + BOUNDS.slack.ms < BOUNDS.orphanConfirmed.ms)
      this.#violate('b', `mcm deletes VM ${name} only ${lostMs} ms after its Machine was lost`);
    if (this.#mayForceOrphan(name)) return;
    const unreadyUntil = this.#unready.get(name)?.until ?? Number.POSITIVE_INFINITY;
    if (!nodes.store.get(name) || unreadyUntil > this.#now() - lagMs) return;
    const left = pods.store
      .byIndex('node', name)
      .filter((pod) => !hasEnded(pod) && (this.#boundAt.get(pod.metadata.uid) ?? 0) < this.#now() - lagMs)
      .map(({ metadata }) => metadata.name);
    if (left.length > 0)
      this.#violate('c', `mcm deletes VM ${name}, which has no Machine, while the pods ${left} still run`);
  }

  /** Rule (d): before its pods are evicted, a Node is cordoned. */
  #verifyCordoned(node: string, { metadata: { name } }: Pod): void {
    const since = this.#schedulableSince.get(node) ?? Number.POSITIVE_INFINITY;
    if (this.#now() > since + this.#o.lagMs('nodes'))
      this.#violate('d', `mcm evicts pod ${name} from node ${node}, which is not cordoned`);
  }

  /** Must be called before a controller evicts or deletes a pod, for rule (d). */
  beforePodLeaves(pod: Pod, verb: 'evict' | 'delete'): void {
    const { cache, apps } = this.#o;
    const node = pod.spec.nodeName ?? '';
    const machine = cache.machines.store.list().find((each) => label(each, 'node') === node);
    const isLost = !machine && this.#lostNodes.has(node);
    if (!machine?.metadata.deletionTimestamp && !isLost) {
      this.#violate(
        'd',
        `mcm evicts pod ${pod.metadata.name}, but nothing requested the deletion of the machine of node ${node}`,
      );
      return;
    }
    if (verb === 'delete') {
      if (machine) this.#verifyNeverRequested(machine, pod);
      // If a pod exceeds its grace period by half a minute, the controller deletes the pod with the grace period 0.
      const due = millis(pod.metadata.deletionTimestamp) + BOUNDS.overstay.ms;
      const mayForce = machine ? this.#mayForce(machine) : this.#mayForceOrphan(node);
      if (!mayForce && !(this.#now() + this.#aheadMs >= due)) {
        this.#violate('d', `mcm deletes pod ${pod.metadata.name} although it could evict the pod`);
      }
      return;
    }
    this.#verifyCordoned(node, pod);
    const app = apps.get(pod.metadata.labels?.app ?? '');
    if (app?.minAvailable === undefined || !isReady(pod) || pod.metadata.deletionTimestamp) return;
    const others = cache.pods.store
      .list()
      .filter(({ metadata }) => metadata.labels?.app === app.name && !metadata.deletionTimestamp)
      .filter((other) => other.metadata.uid !== pod.metadata.uid && isReady(other)).length;
    if (others < app.minAvailable) {
      this.#violate(
        'd',
        `after the eviction of pod ${pod.metadata.name}, app ${app.name} has ${others} healthy pods but needs ${app.minAvailable}`,
      );
    }
  }
}
