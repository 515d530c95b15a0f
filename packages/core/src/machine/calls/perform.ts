import {
  Annotations,
  DEFAULT_MACHINE_PRIORITY,
  type EventReason,
  Finalizers,
  Labels,
  type Machine,
  type MachineClass,
  machineClasses,
  machines,
} from '@mcm/api';
import {
  type EventRecorder,
  ignoreNotFound,
  isForbidden,
  type KubeClient,
  type KubeObject,
  type ResourceClient,
  secrets,
  splitKey,
} from '@mcm/kube';
import type { BlockedByField } from '../../blocked/blocks.ts';
import { forcedKey } from '../../drain/drain.ts';
import type { PodRef } from '../../drain/model/observation.ts';
import { deletePods, evictPods } from '../../drain/perform.ts';
import type { EvictionApi } from '../../drain/requests/eviction-api.ts';
import type { Failure } from '../../driver/contract/bundle.ts';
import type { Instance } from '../../driver/contract/driver.ts';
import { secretKeysOf } from '../../driver/schemas/credentials.ts';
import type { EvidenceKeeper } from '../../evidence/keeper.ts';
import type { KeptVms } from '../../evidence/kept-vms.ts';
import { mergeDiff } from '../../values/merge-diff.ts';
import { listed } from '../../values/texts.ts';
import { counted, reportedAgain } from '../model/damping.ts';
import type { CallKind } from '../model/observation.ts';
import type { Action, PlannedEvent } from '../model/plan.ts';
import type { Scope } from '../model/scope.ts';
import { MachineCalls, type MachineCallsOptions } from './machine-calls.ts';
import { NodeActions, type NodeActionsOptions, type Rechecks } from './node-actions.ts';

export interface PerformerOptions extends NodeActionsOptions, MachineCallsOptions {
  readonly control: KubeClient;
  readonly evidence: EvidenceKeeper;
  readonly keptVms: KeptVms;
  readonly recorder: EventRecorder<EventReason>;
  readonly evictions: EvictionApi;
  readonly blockedBy: BlockedByField;
}

type Rest = Extract<
  Action,
  { readonly do: 'markOutOfService' | 'deleteAttachments' | 'releaseNode' | 'deleteStaleNode' }
>;

/**
 * The response to each request immediately updates the caches, so the next reconcile sees the writes of this process.
 */
export class Performer {
  readonly #options: PerformerOptions;
  readonly #nodes: NodeActions;
  readonly #calls: MachineCalls;

  get yields(): number {
    return this.#nodes.yields;
  }

  get rechecks(): Rechecks {
    return this.#nodes.rechecks;
  }

  constructor(options: PerformerOptions) {
    this.#options = options;
    this.#nodes = new NodeActions(options);
    this.#calls = new MachineCalls(options);
  }

  async perform(action: Action, scope: Scope): Promise<void> {
    const { machine } = scope.o;
    switch (action.do) {
      case 'addFinalizer':
        return this.#setFinalizers(
          scope,
          [...(machine.metadata.finalizers ?? []), Finalizers.MachineControllerManager].sort(),
        );
      case 'findEvictionApi':
        return this.#options.evictions.find(scope);
      case 'readEvictions':
        return this.#readEvictions(scope);
      case 'withdrawEvictions':
        return this.#withdrawEvictions(scope);
      case 'removeFinalizer':
        if (await this.#nodes.findsLate(scope)) return;
        return this.#finish(scope);
      case 'call':
        return this.#call(scope, action.call);
      case 'record':
        return this.#record(scope, action.instance);
      case 'labelNode':
        return this.#patchMachine(scope, { metadata: { labels: { [Labels.Node]: action.nodeName } } });
      case 'writeStatus':
        return this.#writeStatus(scope, action);
      case 'reportHeld':
        scope.memory.held = action.held;
        return this.#options.recorder.event(machine, action.event.type, action.event.reason, action.event.message);
      case 'reportDrain':
        return this.#reportDrain(scope, action);
      case 'warn':
        return this.#warn(scope, action.warnings);
      case 'readNode':
        return this.#nodes.read(scope);
      case 'syncNode':
        return this.#nodes.sync(scope, action.patch);
      case 'setNodeCondition':
        return this.#nodes.setCondition(scope, action);
      case 'annotate':
        return this.#patchMachine(scope, { metadata: { annotations: action.annotations } });
      case 'keepEvidence':
        return this.#keepEvidence(scope, action.failure);
      case 'keepVm':
        if (await this.#nodes.findsMissed(scope)) return;
        return this.#keepVm(scope);
      case 'reportDrift':
        return this.#reportDrift(scope, action);
      case 'extendToken':
        return this.#options.tokens?.extend(machine, action.until);
      case 'deleteToken':
        return this.#options.tokens?.remove(machine);
      case 'deleteMachine':
        return this.#deleteMachine(scope);
      case 'noteUncreated':
        return this.#noteUncreated(scope, action.annotations);
      case 'recordInterruption':
        await this.#patchMachine(scope, {
          metadata: { annotations: { [Annotations.Interruption]: action.annotation } },
        });
        return this.#say(machine, action.event);
      case 'deleteInterrupted':
        return this.#deleteInterrupted(scope);
      case 'deleteUnstarted':
        await this.#deleteObject(scope);
        return this.#say(machine, action.event);
      case 'say':
        return this.#say(machine, action.event);
      case 'cordon':
        return this.#nodes.cordon(scope, action);
      case 'uncordon':
        return this.#nodes.uncordon(scope);
      case 'evict':
        return this.#evictPods(scope, action.pods);
      case 'deletePods':
        return this.#deletePods(scope, action);
      default:
        return this.#release(action, scope);
    }
  }

  async #call(scope: Scope, call: CallKind): Promise<void> {
    if (call === 'delete' && (await this.#nodes.findsMissed(scope))) return;
    // The kubelet of the started VM registers a new Node, which mcm must look for during a deletion.
    if (call === 'start') delete scope.memory.releasedNode;
    this.#calls.start(scope.o, call);
  }

  #release(action: Rest, scope: Scope): Promise<void> {
    switch (action.do) {
      case 'markOutOfService':
        return this.#nodes.markOutOfService(scope);
      case 'deleteAttachments':
        return this.#nodes.deleteAttachments(scope, action.attachments);
      case 'releaseNode':
        return this.#nodes.release(scope.o.node, scope);
      case 'deleteStaleNode':
        return this.#nodes.releaseStale(scope);
      default:
        return assertNever(action);
    }
  }

  #machines({ o }: Scope): ResourceClient<Machine> {
    return this.#options.control.resource(machines, o.machine.metadata.namespace);
  }

  /** The patch contains the UID, so that the API server refuses the patch for a new Machine with an equal name. */
  async #patchMachine(scope: Scope, body: { readonly metadata?: object; readonly spec?: object }): Promise<void> {
    const { name, uid } = scope.o.machine.metadata;
    const patch = { ...body, metadata: { ...body.metadata, uid } };
    const answer = await this.#machines(scope).patch(name, { type: 'merge', body: patch }, { signal: scope.signal });
    this.#options.caches.machines.recordWrite(answer);
  }

  /**
   * Adds the annotation that a machine has no VM. The caches may be outdated, so mcm first asks the API server whether
   * the class or a Secret is really missing. Another process may have called the cloud, so the patch contains the
   * observed resource version.
   */
  async #noteUncreated(scope: Scope, annotations: Readonly<Record<string, string>>): Promise<void> {
    scope.memory.inputsRead = await this.#readsInputs(scope).catch((error: unknown) => {
      if (isForbidden(error)) return true;
      throw error;
    });
    if (scope.memory.inputsRead) return;
    const { resourceVersion } = scope.o.machine.metadata;
    await this.#patchMachine(scope, { metadata: { annotations, resourceVersion } });
  }

  /** Reads the class and the Secrets of a machine into the caches, and returns false if one does not exist. */
  async #readsInputs({ o: { machine } }: Scope): Promise<boolean> {
    const { control, caches } = this.#options;
    const { namespace } = machine.metadata;
    const classes = control.resource<MachineClass>(machineClasses, namespace);
    const machineClass = await listOne(classes, machine.spec.class.name ?? '');
    if (!machineClass) return false;
    caches.classes.recordWrite(machineClass);
    for (const key of secretKeysOf(machineClass)) {
      const { namespace: of, name } = splitKey(key);
      const secret = await listOne(control.resource(secrets, of), name);
      if (!secret) return false;
      caches.secrets.recordWrite(secret);
    }
    return true;
  }

  /** A merge patch replaces the whole list of finalizers, so the request contains the observed resource version. */
  #setFinalizers(scope: Scope, finalizers: readonly string[]): Promise<void> {
    const { resourceVersion } = scope.o.machine.metadata;
    return this.#patchMachine(scope, { metadata: { finalizers, resourceVersion } });
  }

  async #finish(scope: Scope): Promise<void> {
    const { machine, asksForToken } = scope.o;
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
    this.#options.blockedBy.wrote(action.status.blockedBy, answer.status?.blockedBy);
    if (action.writes) scope.memory.healthWrites = counted(scope.memory.healthWrites, action.writes, scope.now);
    if (action.reports !== undefined)
      scope.memory.reported = reportedAgain(scope.memory.reported, action.reports, scope.now);
    if (action.reportsDrain) scope.memory.drain = { ...scope.memory.drain, reportedAt: scope.now };
    if (action.event) {
      const { type, reason, message } = action.event;
      this.#options.recorder.event(machine, type, reason, message);
    }
  }

  /** After a restart, the recorder first checks whether the API server already has the event. */
  #reportDrain({ o: { machine }, memory }: Scope, { causes, event }: Extract<Action, { do: 'reportDrain' }>): void {
    this.#options.recorder.event(machine, event.type, event.reason, event.message, { once: true });
    memory.drain = { ...memory.drain, reported: new Set([...(memory.drain.reported ?? []), ...causes]) };
  }

  #reportDrift({ o: { machine }, memory }: Scope, { drift, event }: Extract<Action, { do: 'reportDrift' }>): void {
    const once = memory.drift === undefined;
    memory.drift = drift;
    if (event) this.#options.recorder.event(machine, event.type, event.reason, event.message, { once });
  }

  #warn({ o: { machine }, memory }: Scope, warnings: readonly string[]): void {
    const once = memory.warned === undefined;
    memory.warned = warnings.join('; ');
    for (const warning of warnings) this.#options.recorder.event(machine, 'Warning', 'InvalidInput', warning, { once });
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
      memory.keeping = { since: now, settled: true, kept };
    });
  }

  #say(machine: Machine, { type, reason, message }: PlannedEvent): void {
    this.#options.recorder.event(machine, type, reason, message);
  }

  async #deleteObject(scope: Scope): Promise<void> {
    const { name, uid, resourceVersion = '' } = scope.o.machine.metadata;
    const options = { preconditions: { uid, resourceVersion }, signal: scope.signal };
    const answer = await ignoreNotFound(this.#machines(scope).delete(name, options));
    if (answer?.metadata.deletionTimestamp !== undefined) this.#options.caches.machines.recordWrite(answer);
  }

  async #deleteInterrupted(scope: Scope): Promise<void> {
    await this.#deleteObject(scope);
    this.#options.log.info('Interrupted machine deleted; the MachineSet creates another machine', {
      machine: scope.o.machine.metadata.name,
    });
  }

  async #deleteMachine(scope: Scope): Promise<void> {
    const { name, labels } = scope.o.machine.metadata;
    await this.#deleteObject(scope);
    this.#options.log.info('Node is being deleted, deleting its machine', { machine: name });
    const message = `Its Node ${labels?.[Labels.Node] ?? ''} was deleted, so mcm deletes the machine`;
    this.#options.recorder.event(scope.o.machine, 'Warning', 'NodeDeleted', message);
  }

  /** Without an eviction API, mcm deletes the pods and ignores their disruption budgets. */
  async #evictPods(scope: Scope, pods: readonly PodRef[]): Promise<void> {
    const { evictions } = this.#options;
    const { uid } = scope.o.machine.metadata;
    const requests = { ask: (pod: PodRef) => evictions.ask(pod, uid, scope.signal) };
    const deleted = await evictPods(this.#nodes.client, pods, scope, requests);
    if (deleted.length === 0) return;
    const names = listed(deleted.map(({ namespace, name }) => `${namespace}/${name}`));
    const message = `Pods deleted without a check of their budgets, because the API server has no eviction API: ${names}`;
    this.#options.recorder.event(scope.o.machine, 'Warning', 'EvictionUnavailable', message);
  }

  async #withdrawEvictions(scope: Scope): Promise<void> {
    await this.#options.evictions.withdraw(scope.o.machine.metadata.uid, scope.signal);
    await this.#patchMachine(scope, { metadata: { annotations: { [Annotations.EvictionRequests]: null } } });
  }

  async #readEvictions(scope: Scope): Promise<void> {
    const all = await this.#options.evictions.read(scope);
    const pods = scope.o.drain?.pods ?? [];
    const responders = new Map(
      pods.flatMap(({ uid }) => {
        const responder = all.get(uid);
        return responder ? [[uid, responder] as const] : [];
      }),
    );
    scope.memory.drain = { ...scope.memory.drain, responders, respondersAt: scope.now };
  }

  /**
   * An event lists the pods that are deleted with grace period 0, so that a user sees why pods are missing.
   */
  #deletePods(scope: Scope, { pods, because }: Extract<Action, { do: 'deletePods' }>): Promise<void> {
    const { attempts } = scope.memory.drain;
    const fresh = pods.filter((pod) => !attempts.has(forcedKey(pod)));
    if (fresh.length > 0) {
      const names = listed(fresh.map(({ namespace, name }) => `${namespace}/${name}`));
      const message = `Pods deleted without a grace period or a check of their budgets, ${because}: ${names}`;
      this.#options.recorder.event(scope.o.machine, 'Warning', 'PodsForcedOff', message);
    }
    return deletePods(this.#nodes.client, pods, scope);
  }
}

/** The roles of mcm do not allow `get` for classes and Secrets, so `listOne` sends a list request. */
async function listOne<T extends KubeObject>(client: ResourceClient<T>, name: string): Promise<T | undefined> {
  const { items } = await client.list({ fieldSelector: `metadata.name=${name}` });
  return items[0];
}

function assertNever(value: never): never {
  throw new Error(`not handled: ${JSON.stringify(value)}`);
}
