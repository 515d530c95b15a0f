import {
  Annotations,
  DEFAULT_MACHINE_PRIORITY,
  type EventReason,
  Finalizers,
  formatTime,
  isForceDeletion,
  Labels,
  type Machine,
  machines,
} from '@mcm/api';
import {
  type Condition,
  type EventRecorder,
  errorText,
  ignoreNotFound,
  type KubeClient,
  KubeError,
  type Logger,
  type Node,
  nodes,
  type ResourceClient,
  volumeAttachments,
} from '@mcm/kube';
import { forcedKey } from '../drain/drain.ts';
import { deletePods, evictPods } from '../drain/perform.ts';
import type { Instance } from '../driver/driver.ts';
import { MachineError } from '../driver/errors.ts';
import type { DriverInvoker, OnOverdue, OnWaiting } from '../driver/invoker-api.ts';
import type { Failure } from '../evidence/bundle.ts';
import type { EvidenceKeeper } from '../evidence/keeper.ts';
import type { KeptVms } from '../evidence/kept-vms.ts';
import { type NodeChange, patchNode } from '../node/patch.ts';
import type { NodePatch } from '../node/sync.ts';
import { outOfService } from '../node/taints.ts';
import { settled } from '../set/machine-writer.ts';
import type { Caches } from './caches.ts';
import type { CallResult, DriverCalls } from './calls.ts';
import type { MachineMemory } from './memory.ts';
import { mergeDiff } from './merge-diff.ts';
import type { CallKind, MachineObservation } from './observation.ts';
import type { Action } from './plan.ts';
import { listed } from './texts.ts';
import type { BootstrapTokenIssuer } from './tokens.ts';
import { asksForToken, renderUserData } from './user-data.ts';

export interface PerformerOptions {
  readonly control: KubeClient;
  readonly target: KubeClient | undefined;
  readonly caches: Caches;
  readonly invoker: DriverInvoker;
  readonly calls: DriverCalls;
  readonly tokens: BootstrapTokenIssuer | undefined;
  readonly evidence: EvidenceKeeper;
  readonly keptVms: KeptVms;
  readonly recorder: EventRecorder<EventReason>;
  readonly log: Logger;
}

/** What an action is carried out on. */
export interface Scope {
  readonly o: MachineObservation;
  readonly memory: MachineMemory;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** Carries planned actions out. Answers go into the caches at once, so the next look sees its own writes. */
export class Performer {
  readonly #options: PerformerOptions;

  constructor(options: PerformerOptions) {
    this.#options = options;
  }

  async perform(action: Action, scope: Scope): Promise<void> {
    const { machine } = scope.o;
    switch (action.do) {
      case 'addFinalizer':
        return this.#setFinalizers(
          scope,
          [...(machine.metadata.finalizers ?? []), Finalizers.MachineControllerManager].sort(),
        );
      case 'removeFinalizer':
        if (await this.#findsLateNode(scope)) return;
        return this.#finish(scope);
      case 'call':
        if (action.call === 'delete' && (await this.#findsMissedNode(scope))) return;
        return this.#call(scope, action.call);
      case 'record':
        return this.#record(scope, action.instance);
      case 'labelNode':
        return this.#patchMachine(scope, { metadata: { labels: { [Labels.Node]: action.nodeName } } });
      case 'writeStatus':
        return this.#writeStatus(scope, action);
      case 'tellHeld':
        scope.memory.held = action.held;
        return this.#options.recorder.event(machine, action.event.type, action.event.reason, action.event.message);
      case 'tellDrain':
        return this.#tellDrain(scope, action);
      case 'complain':
        return this.#complain(scope, action.complaints);
      case 'syncNode':
        return this.#syncNode(scope, action.patch);
      case 'setNodeCondition':
        return this.#setNodeCondition(scope, action.condition);
      case 'annotate':
        return this.#patchMachine(scope, { metadata: { annotations: action.annotations } });
      case 'keepEvidence':
        return this.#keepEvidence(scope, action.failure);
      case 'keepVm':
        if (await this.#findsMissedNode(scope)) return;
        return this.#keepVm(scope);
      case 'extendToken':
        return this.#options.tokens?.extend(machine, action.until);
      case 'deleteToken':
        return this.#options.tokens?.remove(machine);
      case 'deleteMachine':
        return this.#deleteMachine(scope);
      case 'cordon':
        return this.#cordon(scope, action);
      case 'evict':
        return evictPods(this.#target(), action.pods, scope);
      case 'deletePods':
        return this.#deletePods(scope, action);
      case 'markOutOfService':
        return this.#markOutOfService(scope);
      case 'deleteAttachments':
        return this.#deleteAttachments(scope, action.names);
      case 'releaseNode':
        return this.#releaseNode(scope.o.node, scope);
      case 'deleteStaleNode':
        return this.#releaseNode(scope.o.squatter, scope);
      default:
        return assertNever(action);
    }
  }

  #target(): KubeClient {
    const { target } = this.#options;
    if (!target) throw new Error('an action on nodes was planned without a target cluster');
    return target;
  }

  #machines({ o }: Scope): ResourceClient<Machine> {
    return this.#options.control.resource(machines, o.machine.metadata.namespace);
  }

  #nodes(): ResourceClient<Node> {
    return this.#target().resource(nodes);
  }

  /** A merge patch of the machine with this UID; a new machine of the same name is refused by the server. */
  async #patchMachine(scope: Scope, body: { readonly metadata?: object; readonly spec?: object }): Promise<void> {
    const { name, uid } = scope.o.machine.metadata;
    const patch = { ...body, metadata: { ...body.metadata, uid } };
    const answer = await this.#machines(scope).patch(name, { type: 'merge', body: patch }, { signal: scope.signal });
    this.#options.caches.machines.recordWrite(answer);
  }

  /** Lists are written whole, so the version they were computed from goes with them. */
  #setFinalizers(scope: Scope, finalizers: readonly string[]): Promise<void> {
    const { resourceVersion } = scope.o.machine.metadata;
    return this.#patchMachine(scope, { metadata: { finalizers, resourceVersion } });
  }

  async #finish(scope: Scope): Promise<void> {
    const { machine, asksForToken } = scope.o;
    // A machine that joined lost its token then. An earlier process may have issued that of one that never did.
    const neverJoined = asksForToken && !machine.status?.conditions?.length;
    if (neverJoined || this.#options.tokens?.issued(machine)) await this.#options.tokens?.remove(machine);
    const others = (machine.metadata.finalizers ?? []).filter((name) => name !== Finalizers.MachineControllerManager);
    await ignoreNotFound(this.#setFinalizers(scope, others));
    scope.memory.finishedVersion = machine.metadata.resourceVersion;
  }

  async #record(scope: Scope, { providerId, nodeName }: Instance): Promise<void> {
    const { machine, hasTarget } = scope.o;
    const labels = hasTarget && nodeName ? { labels: { [Labels.Node]: nodeName } } : {};
    const annotations = machine.metadata.annotations?.[Annotations.Priority]
      ? {}
      : { annotations: { [Annotations.Priority]: String(DEFAULT_MACHINE_PRIORITY) } };
    await this.#patchMachine(scope, { metadata: { ...labels, ...annotations }, spec: { providerID: providerId } });
  }

  async #writeStatus(scope: Scope, action: Extract<Action, { do: 'writeStatus' }>): Promise<void> {
    const { machine } = scope.o;
    const status = mergeDiff(machine.status, action.status);
    if (!status) return;
    const { name, uid, resourceVersion } = machine.metadata;
    const body = { metadata: { uid, resourceVersion }, status };
    const options = { subresource: 'status', signal: scope.signal };
    const answer = await this.#machines(scope).patch(name, { type: 'merge', body }, options);
    this.#options.caches.machines.recordWrite(answer);
    if (action.tellsDrain) scope.memory.drain = { ...scope.memory.drain, toldAt: scope.now };
    if (action.event) {
      const { type, reason, message } = action.event;
      this.#options.recorder.event(machine, type, reason, message);
    }
  }

  /** A new process finds what a former one may have told already. */
  #tellDrain({ o: { machine }, memory }: Scope, { causes, event }: Extract<Action, { do: 'tellDrain' }>): void {
    this.#options.recorder.event(machine, event.type, event.reason, event.message, { once: true });
    memory.drain = { ...memory.drain, told: new Set([...(memory.drain.told ?? []), ...causes]) };
  }

  #complain({ o: { machine }, memory }: Scope, complaints: readonly string[]): void {
    // A new process finds what a former one may have told already.
    const once = memory.complained === undefined;
    memory.complained = complaints.join('; ');
    for (const complaint of complaints)
      this.#options.recorder.event(machine, 'Warning', 'InvalidInput', complaint, { once });
  }

  #keepEvidence({ o: { machine }, memory, now }: Scope, failure: Failure): void {
    const state = { failure: failure.id, since: now, settled: false };
    memory.evidence = state;
    this.#options.evidence.keep(machine, failure, () => {
      if (memory.evidence === state) memory.evidence = { ...state, settled: true };
    });
  }

  #keepVm({ o: { machine, machineClass }, memory, now }: Scope): void {
    if (!machineClass) return;
    memory.keeping = { since: now, settled: false };
    this.#options.keptVms.keep(machine, machineClass, now, (kept) => {
      memory.keeping = { since: now, settled: true, ...(kept ? { kept } : {}) };
    });
  }

  async #deleteMachine(scope: Scope): Promise<void> {
    const { name, uid } = scope.o.machine.metadata;
    const options = { preconditions: { uid }, signal: scope.signal };
    await ignoreNotFound(this.#machines(scope).delete(name, options));
    this.#options.log.info('Node is being deleted, so its machine is', { machine: name });
  }

  async #syncNode(scope: Scope, patch: NodePatch): Promise<void> {
    const { node } = scope.o;
    if (!node) return;
    const { signal } = scope;
    if (patch.main) this.#recordNode(await patchNode(this.#nodes(), node, patch.main, { signal }));
    if (patch.status) {
      const options = { subresource: 'status', signal };
      this.#recordNode(await this.#nodes().patch(node.metadata.name, { type: 'merge', body: patch.status }, options));
    }
  }

  async #setNodeCondition({ o: { node }, signal }: Scope, condition: Condition): Promise<void> {
    if (!node) return;
    const patch = { type: 'strategic', body: { status: { conditions: [condition] } } } as const;
    this.#recordNode(await this.#nodes().patch(node.metadata.name, patch, { subresource: 'status', signal }));
  }

  #recordNode(node: Node): void {
    this.#options.caches.target?.nodes.recordWrite(node);
  }

  /** No new pods, and everybody can see why. Two writes: spec and status are apart. */
  async #cordon(scope: Scope, { reason, tolerant, release }: Extract<Action, { do: 'cordon' }>): Promise<void> {
    const { node } = scope.o;
    if (!node) return;
    const { name } = node.metadata;
    const { signal } = scope;
    const time = formatTime(scope.now);
    const message =
      reason === 'Unhealthy'
        ? 'Machine Controller is terminating failed machine'
        : 'Machine Controller is scaling down machine';
    const times = { lastHeartbeatTime: time, lastTransitionTime: time };
    const conditions = [{ type: 'Terminating', status: 'True', reason, message, ...times }];
    const writes: Promise<Node | undefined>[] = [];
    if (!node.status?.conditions?.some(({ type }) => type === 'Terminating')) {
      const body = { status: { conditions } };
      writes.push(
        ignoreNotFound(this.#nodes().patch(name, { type: 'strategic', body }, { subresource: 'status', signal })),
      );
    }
    if (!node.spec.unschedulable) {
      const change = { spec: { unschedulable: true }, ...(release ? withoutOurFinalizer(node) : {}) } as const;
      writes.push(ignoreNotFound(patchNode(this.#nodes(), node, change, { signal })));
    }
    const results = await Promise.allSettled(writes);
    for (const result of results) {
      if (result.status === 'fulfilled' && result.value) this.#recordNode(result.value);
    }
    const refused = results.find((result) => result.status === 'rejected');
    if (!refused) return;
    if (!tolerant) throw refused.reason;
    scope.memory.drain = { ...scope.memory.drain, cordonFailed: true };
    this.#options.log.warn('Cordon failed; the drain is forced and goes on', {
      node: name,
      error: errorText(refused.reason),
    });
  }

  /** Whoever misses a pod, or finds a budget broken, is to find out why: told once a pod. */
  #deletePods(scope: Scope, { pods, because }: Extract<Action, { do: 'deletePods' }>): Promise<void> {
    const { attempts } = scope.memory.drain;
    const fresh = pods.filter((pod) => !attempts.has(forcedKey(pod)));
    if (fresh.length > 0) {
      const names = listed(fresh.map(({ namespace, name }) => `${namespace}/${name}`));
      const message = `Deleted without grace, whatever their budgets say, ${because}: ${names}`;
      this.#options.recorder.event(scope.o.machine, 'Warning', 'PodsForcedOff', message);
    }
    return deletePods(this.#target(), pods, scope);
  }

  async #markOutOfService({ o: { node }, signal }: Scope): Promise<void> {
    if (!node) return;
    const change = { spec: { taints: outOfService(node) } };
    const answer = await ignoreNotFound(patchNode(this.#nodes(), node, change, { signal }));
    if (answer) this.#recordNode(answer);
  }

  /**
   * Each is asked for once, also where that is refused for good. What may not have been done is asked for again, with the
   * queue's back-off: a volume that stays attached keeps its pod from starting elsewhere.
   */
  async #deleteAttachments(scope: Scope, names: readonly string[]): Promise<void> {
    const client = this.#target().resource(volumeAttachments);
    const results = await Promise.allSettled(
      names.map((name) => ignoreNotFound(client.delete(name, { signal: scope.signal }))),
    );
    const failed = results.map((result) => (result.status === 'rejected' ? { error: result.reason } : undefined));
    const open = failed.find((failure) => failure && isTransient(failure.error));
    const settled = names.filter((_, index) => !(failed[index] && isTransient(failed[index].error)));
    const asked = new Set([...(scope.memory.drain.detachAsked ?? []), ...settled]);
    scope.memory.drain = { ...scope.memory.drain, detachAsked: asked };
    for (const failure of failed) {
      if (failure && !isTransient(failure.error)) {
        this.#options.log.warn('VolumeAttachment was not deleted', { error: errorText(failure.error) });
      }
    }
    if (open) throw open.error;
  }

  /** The cache may show the Node for long after it is gone: it is not deleted again and again meanwhile. */
  async #releaseNode(node: Node | undefined, { memory, signal }: Scope): Promise<void> {
    if (!node) return;
    await this.#deleteNode(node, signal);
    memory.releasedNode = node.metadata.uid;
  }

  /** A Node whose VM is gone goes too, if it is still the same Node. */
  async #deleteNode(node: Node, signal: AbortSignal): Promise<void> {
    const { name, uid, finalizers, deletionTimestamp } = node.metadata;
    if (finalizers?.includes(Finalizers.Node)) {
      const answer = await ignoreNotFound(patchNode(this.#nodes(), node, withoutOurFinalizer(node), { signal }));
      if (answer) this.#recordNode(answer);
    }
    if (!deletionTimestamp) await ignoreNotFound(this.#nodes().delete(name, { preconditions: { uid }, signal }));
  }

  /**
   * Asks the server for a Node that registered while its VM was being deleted, faster than the watch tells: with its machine
   * nobody would know any more whose it was. Once a machine, and only where no Node of it was released.
   */
  async #findsLateNode({ o, memory, signal }: Scope): Promise<boolean> {
    const name = o.machine.metadata.labels?.[Labels.Node];
    const { target } = this.#options.caches;
    if (!target || !name || o.node || memory.releasedNode || target.nodes.store.get(name)) return false;
    const found = await settled(this.#nodes().get(name, { signal }));
    if (found) this.#recordNode(found);
    return found !== undefined;
  }

  /**
   * Asks the server for a Node that the cache does not have, before the VM goes. After an outage the watch of Nodes may
   * come back later than that of Machines, and the VM of a Node that is not known would go undrained. A live read, as
   * a stale answer would destroy work; once a deletion, and only without a Node.
   */
  async #findsMissedNode({ o, now, signal }: Scope): Promise<boolean> {
    const { machine, settings } = o;
    const name = machine.metadata.labels?.[Labels.Node];
    const { target } = this.#options.caches;
    if (!target || !name || o.node || target.nodes.store.get(name)) return false;
    try {
      const found = await ignoreNotFound(this.#nodes().get(name, { signal }));
      if (found) this.#recordNode(found);
      return found !== undefined;
    } catch (error) {
      const since = Date.parse(machine.metadata.deletionTimestamp ?? machine.metadata.creationTimestamp);
      if (now.getTime() < since + settings.drainTimeoutMs && !isForceDeletion(machine)) throw error;
      this.#options.log.warn('Whether there is a Node to drain cannot be told; its time is up, and the VM goes', {
        machine: machine.metadata.name,
        error: errorText(error),
      });
      return false;
    }
  }

  #call({ o }: Scope, call: CallKind): void {
    this.#options.calls.start(o.machine, call, o.inputs, (...told) => this.#invoke(o, call, ...told));
  }

  async #invoke(
    o: MachineObservation,
    call: CallKind,
    onOverdue: OnOverdue,
    onWaiting: OnWaiting,
  ): Promise<CallResult> {
    const { invoker } = this.#options;
    const { machine } = o;
    switch (call) {
      case 'create': {
        const created = await invoker.create(machine, (userData) => this.#render(o, userData), onOverdue, onWaiting);
        requireNames(o, created);
        const { lastKnownState, ...instance } = created;
        return { ok: true, instance, ...(lastKnownState === undefined ? {} : { lastKnownState }) };
      }
      case 'initialize':
        return { ok: true, instance: await invoker.initialize(machine, onOverdue) };
      case 'status':
        return { ok: true, instance: await invoker.status(machine, onOverdue) };
      case 'delete': {
        const gone = await invoker.delete(withProviderId(machine, o.calls.created), onOverdue);
        return { ok: true, ...(gone?.lastKnownState === undefined ? {} : { lastKnownState: gone.lastKnownState }) };
      }
      default:
        return assertNever(call);
    }
  }

  async #render(o: MachineObservation, userData: string): Promise<string> {
    const { tokens } = this.#options;
    const machineName = o.machine.metadata.name;
    if (!tokens || !asksForToken(userData)) return renderUserData(userData, { machineName });
    const bootstrapToken = await tokens.ensure(o.machine, o.settings.creationTimeoutMs);
    return renderUserData(userData, { machineName, bootstrapToken });
  }
}

/** No answer, or one that another try may better: everything but a refusal of what was asked. */
const isTransient = (error: unknown): boolean =>
  !(error instanceof KubeError) || error.code === 0 || error.code === 429 || error.code >= 500;

const withoutOurFinalizer = ({ metadata: { finalizers = [] } }: Node): NodeChange => ({
  metadata: { finalizers: finalizers.filter((finalizer) => finalizer !== Finalizers.Node) },
});

/** A VM without an id could never be found again, nor one without a name its Node: the driver is at fault, and says so. */
function requireNames({ machine, hasTarget }: MachineObservation, { nodeName, providerId }: Instance): void {
  if (providerId && (nodeName || !hasTarget)) return;
  throw new MachineError(
    'Internal',
    `machine "${machine.metadata.name}": nodeName ("${nodeName}") or providerID ("${providerId}") is empty after creation flow`,
  );
}

/** A VM that was made but never recorded is deleted by the id it has. */
const withProviderId = (machine: Machine, created: Instance | undefined): Machine =>
  machine.spec.providerID || !created
    ? machine
    : { ...machine, spec: { ...machine.spec, providerID: created.providerId } };

function assertNever(value: never): never {
  throw new Error(`not handled: ${JSON.stringify(value)}`);
}
