import { Finalizers, Labels } from '@mcm/api';
import {
  errorText,
  ignoreNotFound,
  isConflict,
  isReady,
  type Key,
  keyOf,
  type Node,
  nodes,
  type ResourceClient,
} from '@mcm/kube';
import { MachineError } from '../../driver/contract/errors.ts';
import { HourlyCap } from '../../flow/hourly-cap.ts';
import { patchNode } from '../../node/patch.ts';
import type { Listing, Listings } from './listings.ts';
import { liveMachines } from './live-orphans.ts';
import { claims, classOfNode, decideOrphanNode, planNodeMark } from './orphan-nodes.ts';
import type { OrphanReconcileOptions } from './orphan-options.ts';
import { machineOfOrphanVm } from './orphan-vms.ts';

interface Verdict {
  readonly outcome: string;
  readonly sendEvent: boolean;
}

const withEvent = (outcome: string): Verdict => ({ outcome, sendEvent: true });

/** Finds Nodes without a machine, marks them with an annotation, and deletes orphaned Nodes. */
export class NodeCollector {
  readonly #o: OrphanReconcileOptions;
  readonly #listings: Listings;
  readonly #cap: HourlyCap;
  #firstSeen: ReadonlyMap<string, Date> = new Map();
  #reported: ReadonlyMap<string, string> = new Map();
  readonly #reportedLiving = new Set<string>();
  readonly #deleting = new Set<string>();

  get suspects(): number {
    return this.#firstSeen.size;
  }

  constructor(options: OrphanReconcileOptions, listings: Listings) {
    this.#o = options;
    this.#listings = listings;
    this.#cap = new HourlyCap(options.options.maxPerHour, options.clock);
  }

  startOver(): void {
    this.#firstSeen = new Map();
  }

  /** Returns the time of the next search, or undefined if no Node is suspected. */
  async pass(now: Date): Promise<Date | undefined> {
    const { caches, target, invoker, options } = this.#o;
    if (!target || !caches.target) return undefined;
    for (const node of caches.target.nodes.store.list()) await this.#mark(target.resource(nodes), node, now);
    if (!invoker.can.list) return undefined;
    const suspects = caches.target.nodes.store.list().filter((node) => this.#isSuspect(node));
    const before = this.#firstSeen;
    this.#firstSeen = new Map(suspects.map(({ metadata: { uid } }) => [uid, before.get(uid) ?? now] as const));
    const listings = this.#allListings();
    const reported = new Map<string, string>();
    for (const node of suspects) {
      const { outcome, sendEvent } = this.#decide(node, now, before, listings);
      reported.set(node.metadata.uid, outcome);
      if (this.#reported.get(node.metadata.uid) === outcome) continue;
      this.#o.log.info('Node without a machine', { node: node.metadata.name, outcome });
      if (sendEvent) this.#report(node, outcome);
    }
    this.#reported = reported;
    for (const uid of this.#reportedLiving) if (!reported.has(uid)) this.#reportedLiving.delete(uid);
    return suspects.length > 0 ? new Date(now.getTime() + options.confirmAfterMs) : undefined;
  }

  async #mark(client: ResourceClient<Node>, node: Node, now: Date): Promise<void> {
    const { caches, defaults, log } = this.#o;
    const owners = caches.machines.store.byIndex('node', node.metadata.name).length;
    const change = planNodeMark(node, owners, now, defaults.creationTimeoutMs);
    if (!change) return;
    const fields = { node: node.metadata.name };
    try {
      const answer = await ignoreNotFound(patchNode(client, node, change));
      if (answer) caches.target?.nodes.recordWrite(answer);
      log.info(owners === 0 ? 'Node belongs to no machine' : 'Node belongs to a machine again', fields);
    } catch (error) {
      log.warn('Cannot mark a Node as orphaned; the next search retries', { ...fields, error: errorText(error) });
    }
  }

  /**
   * Returns true if the Node may be an orphan. A possible orphan belongs to this controller, its kubelet does not
   * report, and the caches contain no machine for the Node.
   */
  #isSuspect(node: Node): boolean {
    const { caches, namespace } = this.#o;
    const name = node.metadata.labels?.[Labels.MachineName];
    if (!name || !classOfNode(node, namespace) || isReady(node) || node.metadata.deletionTimestamp) return false;
    return (
      caches.machines.store.byIndex('node', node.metadata.name).length === 0 &&
      caches.machines.store.get(`${namespace}/${name}`) === undefined
    );
  }

  #allListings(): ReadonlyMap<Key, Listing | undefined> {
    const keys = this.#o.caches.classes.store.list().map(keyOf);
    return new Map(keys.map((key) => [key, this.#listings.of(key)]));
  }

  #decide(
    node: Node,
    now: Date,
    firstSeen: ReadonlyMap<string, Date>,
    listings: ReadonlyMap<Key, Listing | undefined>,
  ): Verdict {
    const { namespace, defaults, options } = this.#o;
    const { uid } = node.metadata;
    const kept = decideOrphanNode(this.#o.journal, node, now, {
      namespace,
      minAgeMs: defaults.creationTimeoutMs,
      firstSeen: firstSeen.get(uid),
      confirmAfterMs: options.confirmAfterMs,
      listings,
    });
    if (kept) return { outcome: `mcm keeps the Node: ${kept.because}`, sendEvent: kept.passing !== true };
    if (options.policy === 'report') return withEvent('mcm keeps the object because of --orphan-policy=report');
    if (this.#deleting.has(uid)) return { outcome: 'mcm is deleting the Node', sendEvent: false };
    if (!this.#cap.admits(uid))
      return withEvent('the deletion of the Node waits, because the limit of deletions per hour is reached');
    this.#deleting.add(uid);
    void this.#delete(node, now).finally(() => this.#deleting.delete(uid));
    return { outcome: 'mcm checks the API servers and the cloud, and then deletes the Node', sendEvent: false };
  }

  #report(node: Node, outcome: string): void {
    const name = node.metadata.labels?.[Labels.MachineName] ?? '';
    const text = `Machine ${name} of the Node no longer exists, and no kubelet reports the status of the Node; ${outcome}`;
    this.#o.targetRecorder?.event(node, 'Warning', 'OrphanNode', text);
  }

  /** Before the deletion, mcm reads the machines and the Node from the API servers, and the VM from the cloud. */
  async #delete(seen: Node, now: Date): Promise<void> {
    const { log, control, namespace, target } = this.#o;
    const fields = { node: seen.metadata.name, providerID: seen.spec.providerID };
    if (!target) return;
    const client = target.resource(nodes);
    try {
      if (await this.#cloudHas(seen, now)) {
        log.warn('Node without a machine kept: its VM still exists', fields);
        if (!this.#reportedLiving.has(seen.metadata.uid))
          this.#report(seen, 'mcm keeps the Node because its VM still exists');
        this.#reportedLiving.add(seen.metadata.uid);
        return;
      }
      const live = await liveMachines(control, namespace);
      const node = await ignoreNotFound(client.get(seen.metadata.name));
      if (!node || node.metadata.uid !== seen.metadata.uid || isReady(node)) return;
      if ([...live.values()].some((machine) => claims(machine, node))) {
        log.info('Node without a machine kept: a machine claims the Node', fields);
        return;
      }
      if (node.metadata.finalizers?.includes(Finalizers.Node)) return;
      // If the kubelet reports again, the deletion fails with a conflict.
      const { name, uid, resourceVersion } = node.metadata;
      await ignoreNotFound(client.delete(name, { preconditions: { uid, resourceVersion } }));
      log.warn('Orphan Node deleted', fields);
      this.#report(seen, 'mcm deleted the Node');
    } catch (error) {
      if (isConflict(error)) log.info('Orphan Node changed; checking the Node again before its deletion', fields);
      else log.warn('Cannot delete orphan Node; the next search retries', { ...fields, error: errorText(error) });
    }
  }

  /**
   * Returns true if the cloud may still have the VM of the Node. For a driver without the method `status`, the listings
   * have already shown that the VM does not exist.
   */
  async #cloudHas(node: Node, now: Date): Promise<boolean> {
    const { invoker, caches, namespace } = this.#o;
    if (!invoker.can.status) return false;
    const machineClass = caches.classes.store.get(classOfNode(node, namespace) ?? '');
    if (!machineClass) return true;
    const machineName = node.metadata.labels?.[Labels.MachineName] ?? '';
    const providerId = node.spec.providerID ?? '';
    try {
      await invoker.status(machineOfOrphanVm({ machineName, providerId, machineClass }, now));
      return true;
    } catch (error) {
      if (error instanceof MachineError && error.code === 'NotFound') return false;
      throw error;
    }
  }
}
