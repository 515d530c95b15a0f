import { Finalizers, formatTime, isForceDeletion, Labels, NodeConditions } from '@mcm/api';
import {
  errorText,
  ignoreNotFound,
  isConflict,
  type KubeClient,
  KubeError,
  type Logger,
  type Node,
  nodes,
  type ResourceClient,
  volumeAttachments,
} from '@mcm/kube';
import type { Caches } from '../../cluster/caches.ts';
import { settled } from '../../flow/answers.ts';
import { applyNodeMetadata } from '../../node/apply-metadata.ts';
import { type NodeChange, patchNode, patchNodeStatus } from '../../node/patch.ts';
import type { NodePatch } from '../../node/sync.ts';
import { outOfService } from '../../node/taints.ts';
import type { Action } from '../model/plan.ts';
import type { Scope } from '../model/scope.ts';

export interface NodeActionsOptions {
  readonly target: KubeClient | undefined;
  readonly caches: Caches;
  readonly log: Logger;
}

export interface CordonScope extends Pick<Scope, 'now' | 'signal'> {
  readonly o: Pick<Scope['o'], 'node'>;
  readonly memory: Pick<Scope['memory'], 'drain' | 'missingNode'>;
}

/** Counts reads of Nodes from the API server. mcm reads a Node if the health of its machine changes often. */
export interface Rechecks {
  readonly all: number;
  readonly stale: number;
}

export class NodeActions {
  readonly #options: NodeActionsOptions;
  #rechecks: Rechecks = { all: 0, stale: 0 };
  #yields = 0;

  constructor(options: NodeActionsOptions) {
    this.#options = options;
  }

  get client(): KubeClient {
    const { target } = this.#options;
    if (!target) throw new Error('mcm planned an action on a Node, but runs without a target cluster');
    return target;
  }

  #nodes(): ResourceClient<Node> {
    return this.client.resource(nodes);
  }

  /**
   * Writes labels, annotations, taints and conditions to a Node. The metadata and the status of a Node need separate
   * requests. Server-side apply is the first request, because the patch `main` records the applied values.
   */
  async sync(scope: Scope, patch: NodePatch): Promise<void> {
    const { node } = scope.o;
    if (!node) return;
    const { signal } = scope;
    if (patch.apply) {
      const applied = await applyNodeMetadata(this.#nodes(), node, patch.apply, { signal });
      this.#yields += applied.yielded;
      if (applied.node) this.#record(applied.node);
    }
    if (patch.main) this.#record(await patchNode(this.#nodes(), node, patch.main, { signal }));
    if (patch.status) this.#record(await patchNodeStatus(this.#nodes(), node, 'merge', patch.status, { signal }));
  }

  /** The number of labels and annotations that mcm did not apply, because another client owns these fields. */
  get yields(): number {
    return this.#yields;
  }

  get rechecks(): Rechecks {
    return this.#rechecks;
  }

  async read({ o, memory, signal, now }: Scope): Promise<void> {
    const name = o.node?.metadata.name ?? o.machine.metadata.labels?.[Labels.Node];
    if (!name) return;
    const found = await ignoreNotFound(this.#nodes().get(name, { signal }));
    if (found) this.#record(found);
    const isStale = found?.metadata.resourceVersion !== o.node?.metadata.resourceVersion;
    this.#rechecks = { all: this.#rechecks.all + 1, stale: this.#rechecks.stale + (isStale ? 1 : 0) };
    if (memory.healthWrites) memory.healthWrites = { ...memory.healthWrites, readAt: now };
  }

  async setCondition(
    { o: { node }, signal }: Scope,
    { condition, onlyIfUnchanged }: Extract<Action, { do: 'setNodeCondition' }>,
  ): Promise<void> {
    if (!node) return;
    const options = { signal, onlyIfUnchanged };
    this.#record(await patchNodeStatus(this.#nodes(), node, 'strategic', { conditions: [condition] }, options));
  }

  /** Stores the Node that the API server returned, or records that the cache is outdated. */
  #recordOrMiss(answer: Node | undefined, { metadata }: Node, { memory, now }: CordonScope): void {
    if (answer) this.#record(answer);
    else memory.missingNode = { uid: metadata.uid, at: now };
  }

  #record(node: Node): void {
    this.#options.caches.target?.nodes.recordWrite(node);
  }

  /**
   * Adds a condition with the reason to a Node, and then cordons the Node. A cordon request may arrive after the Node
   * left the drain, for example after a new Machine took over the VM. The order and the resource version guarantee that
   * a Node that mcm cordoned has the condition, so that `planAdoptedNode` can uncordon the Node.
   */
  async cordon(scope: CordonScope, action: Extract<Action, { do: 'cordon' }>): Promise<void> {
    const { node } = scope.o;
    if (!node) return;
    let marked: Node | undefined = node;
    if (!node.status?.conditions?.some(({ type }) => type === NodeConditions.Terminating)) {
      marked = await this.#tolerating(scope, action, node, () => this.#markTerminating(node, scope, action));
    }
    if (!marked || marked.spec.unschedulable) return;
    const { signal } = scope;
    const seen = marked;
    const change = {
      spec: { unschedulable: true },
      ...(action.release ? withoutOurFinalizer(seen) : {}),
      onlyIfUnchanged: true,
    } as const;
    await this.#tolerating(scope, action, seen, async () => {
      const answer = await ignoreNotFound(patchNode(this.#nodes(), seen, change, { signal }));
      this.#recordOrMiss(answer, node, scope);
      return answer;
    });
  }

  async #markTerminating(
    node: Node,
    scope: CordonScope,
    { reason }: Extract<Action, { do: 'cordon' }>,
  ): Promise<Node | undefined> {
    const time = formatTime(scope.now);
    const message =
      reason === 'Unhealthy'
        ? 'Machine Controller is terminating failed machine'
        : 'Machine Controller is scaling down machine';
    const times = { lastHeartbeatTime: time, lastTransitionTime: time };
    const conditions = [{ type: NodeConditions.Terminating, status: 'True', reason, message, ...times }];
    const { signal } = scope;
    const write = patchNodeStatus(this.#nodes(), node, 'strategic', { conditions }, { signal });
    const answer = await ignoreNotFound(write);
    this.#recordOrMiss(answer, node, scope);
    return answer;
  }

  /**
   * Performs a write of a cordon. After a conflict, mcm reads the Node, because the watch may be late, and the next
   * reconcile decides again. Other errors do not end a forced drain.
   */
  async #tolerating(
    scope: CordonScope,
    { tolerant }: Extract<Action, { do: 'cordon' }>,
    node: Node,
    write: () => Promise<Node | undefined>,
  ): Promise<Node | undefined> {
    const { name, resourceVersion } = node.metadata;
    const { memory, signal } = scope;
    try {
      return await write();
    } catch (error) {
      const found = isConflict(error) && !signal.aborted && (await settled(this.#nodes().get(name, { signal })));
      if (found) this.#record(found);
      const isStale = found && found.metadata.resourceVersion !== resourceVersion;
      if (isStale || !tolerant || signal.aborted) throw error;
      const fields = { node: name, error: errorText(error) };
      if (!memory.drain.cordonFailed) this.#options.log.warn('Cordon failed; the forced drain continues', fields);
      memory.drain = { ...memory.drain, cordonFailed: true };
      return node;
    }
  }

  /**
   * mcm removes the condition on the Node last, so that another process recognizes after a crash that mcm cordoned the
   * Node.
   */
  async uncordon({ o: { node }, signal }: Scope): Promise<void> {
    if (!node) return;
    const change = { spec: { unschedulable: false } } as const;
    if (node.spec.unschedulable) this.#record(await patchNode(this.#nodes(), node, change, { signal }));
    const conditions = [{ type: NodeConditions.Terminating, $patch: 'delete' }];
    this.#record(await patchNodeStatus(this.#nodes(), node, 'strategic', { conditions }, { signal }));
  }

  async markOutOfService(scope: Scope): Promise<void> {
    const { signal } = scope;
    const { node } = scope.o;
    if (!node) return;
    const change = { spec: { taints: outOfService(node) } };
    this.#recordOrMiss(await ignoreNotFound(patchNode(this.#nodes(), node, change, { signal })), node, scope);
  }

  /**
   * mcm sends all requests, even if the API server refuses one of them. While a volume is attached to the old node, its
   * pod cannot start on another node.
   */
  async deleteAttachments(
    scope: Scope,
    attachments: readonly { readonly name: string; readonly uid: string }[],
  ): Promise<void> {
    const client = this.client.resource(volumeAttachments);
    const { signal } = scope;
    // A volume that is attached to the Node again gets a new VolumeAttachment with an equal name. The precondition on
    // the UID protects a new VolumeAttachment with an equal name.
    const results = await Promise.allSettled(
      attachments.map(({ name, uid }) => ignoreNotFound(client.delete(name, { preconditions: { uid }, signal }))),
    );
    const failed = results.map((result) => (result.status === 'rejected' ? { error: result.reason } : undefined));
    const open = failed.find((failure) => failure && isTransient(failure.error));
    const settled = attachments.filter((_, index) => !(failed[index] && isTransient(failed[index].error)));
    const asked = new Map([
      ...(scope.memory.drain.detachRequested ?? []),
      ...settled.map(({ name, uid }) => [name, { uid, at: scope.now }] as const),
    ]);
    scope.memory.drain = { ...scope.memory.drain, detachRequested: asked };
    for (const failure of failed) {
      if (failure && !isTransient(failure.error)) {
        this.#options.log.warn('VolumeAttachment not deleted', { error: errorText(failure.error) });
      }
    }
    if (open) throw open.error;
  }

  /** An outdated cache may still contain the deleted Node, so mcm records the UID of the deleted Node. */
  async release(node: Node | undefined, { memory, signal }: Scope): Promise<void> {
    if (!node) return;
    await this.#delete(node, signal);
    memory.releasedNode = node.metadata.uid;
  }

  async releaseStale(scope: Scope): Promise<void> {
    const { memory, signal } = scope;
    const { conflictingNode } = scope.o;
    if (!conflictingNode) return;
    const { name, uid, resourceVersion = '', finalizers } = conflictingNode.metadata;
    if (finalizers?.includes(Finalizers.Node)) {
      this.#recordOrMiss(await this.#withoutFinalizer(conflictingNode, signal), conflictingNode, scope);
      return;
    }
    try {
      await ignoreNotFound(this.#nodes().delete(name, { preconditions: { uid, resourceVersion }, signal }));
      memory.releasedNode = uid;
    } catch (error) {
      const found = isConflict(error) && (await ignoreNotFound(this.#nodes().get(name, { signal })));
      if (found) this.#record(found);
      throw error;
    }
  }

  /** The precondition on the UID protects a new Node with an equal name. */
  async #delete(node: Node, signal: AbortSignal): Promise<void> {
    const { name, uid, finalizers, deletionTimestamp } = node.metadata;
    if (finalizers?.includes(Finalizers.Node)) {
      const answer = await this.#withoutFinalizer(node, signal);
      if (answer) this.#record(answer);
    }
    if (!deletionTimestamp) await ignoreNotFound(this.#nodes().delete(name, { preconditions: { uid }, signal }));
  }

  #withoutFinalizer(node: Node, signal: AbortSignal): Promise<Node | undefined> {
    return ignoreNotFound(patchNode(this.#nodes(), node, withoutOurFinalizer(node), { signal }));
  }

  /**
   * Returns true if the kubelet registered a Node during the deletion of its VM. The watch of Nodes may be late, so mcm
   * reads the Node from the API server. A Node that mcm misses would become an orphan.
   */
  async findsLate({ o, memory, signal }: Scope): Promise<boolean> {
    const name = o.machine.metadata.labels?.[Labels.Node];
    const { target } = this.#options.caches;
    if (!target || !name || o.node || memory.releasedNode || target.nodes.store.get(name)) return false;
    const found = await settled(this.#nodes().get(name, { signal }));
    if (found) this.#record(found);
    return found !== undefined;
  }

  /**
   * Returns true if the API server has a Node that the cache does not contain. The watch of Nodes may be late after an
   * outage, so the check runs before the deletion of the VM. If mcm missed the Node, it would delete the VM without a
   * drain.
   */
  async findsMissed({ o, now, signal }: Scope): Promise<boolean> {
    const { machine, settings } = o;
    const name = machine.metadata.labels?.[Labels.Node];
    const { target } = this.#options.caches;
    if (!target || !name || o.node || target.nodes.store.get(name)) return false;
    try {
      const found = await ignoreNotFound(this.#nodes().get(name, { signal }));
      if (found) this.#record(found);
      return found !== undefined;
    } catch (error) {
      const since = Date.parse(machine.metadata.deletionTimestamp ?? machine.metadata.creationTimestamp);
      const isOver = now.getTime() >= since + settings.drainTimeoutMs;
      if (signal.aborted || !(isOver || isForceDeletion(machine))) throw error;
      this.#options.log.warn(
        'Cannot determine whether the machine has a Node; drain timeout expired, deleting the VM',
        {
          machine: machine.metadata.name,
          error: errorText(error),
        },
      );
      return false;
    }
  }
}

const isTransient = (error: unknown): boolean =>
  !(error instanceof KubeError) || error.code === 0 || error.code === 429 || error.code >= 500;

const withoutOurFinalizer = ({ metadata: { finalizers = [] } }: Node): NodeChange => ({
  metadata: { finalizers: finalizers.filter((finalizer) => finalizer !== Finalizers.Node) },
});
