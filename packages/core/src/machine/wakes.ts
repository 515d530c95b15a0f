import { InPlaceUpdateReasons, Labels, type Machine, NodeConditions } from '@mcm/api';
import {
  type Change,
  type Key,
  keyOf,
  makeKey,
  type Node,
  type Pod,
  type PodDisruptionBudget,
  type VolumeAttachment,
} from '@mcm/kube';
import type { Caches } from '../cluster/caches.ts';
import { replacementGroup } from '../disruption/replacements.ts';
import { WaitingLists } from '../flow/waiting-lists.ts';
import { instanceKey, isNodeOf } from '../node/instance.ts';
import { isUndrained } from '../objects/machines.ts';
import { conditionsDiffer, mirrored } from '../settings/conditions.ts';
import { jsonEquals } from '../values/merge-diff.ts';
import type { MachineMemories } from './model/memory.ts';

export class Wakes {
  readonly #caches: Caches;
  readonly #memories: MachineMemories;
  readonly #namespace: string;
  readonly #byBudget = new WaitingLists();
  readonly #byVolume = new WaitingLists();

  constructor(caches: Caches, memories: MachineMemories, namespace: string) {
    this.#caches = caches;
    this.#memories = memories;
    this.#namespace = namespace;
  }

  readonly machine = (change: Change<Machine>): readonly Key[] => {
    if (change.type === 'deleted') this.waitFor(change.key, [], []);
    if (change.type !== 'deleted' && change.type !== 'updated') return [change.key];
    const before = change.type === 'updated' ? change.old : change.object;
    const after = change.type === 'updated' ? change.object.status?.currentStatus : undefined;
    const stays = change.type === 'updated' && isUndrained(before) === isUndrained(change.object);
    if (stays && before.status?.currentStatus?.phase === after?.phase) return [change.key];
    const waiting = this.#caches.machines.store.byIndex('unhealthyGroup', replacementGroup(change.object));
    const interrupted = this.#caches.machines.store.byIndex('interruptedGroup', replacementGroup(change.object));
    return [change.key, ...waiting.map(keyOf), ...interrupted.map(keyOf)];
  };

  readonly node = (change: Change<Node>): readonly Key[] => {
    if (change.type === 'updated' && !nodeMatters(change.old, change.object)) return [];
    const { name, labels } = change.object.metadata;
    const named = this.#caches.machines.store.byIndex('node', name);
    // After a restore of the API server, the cache can lack a Node whose kubelet still runs pods.
    const isLost = this.#caches.target?.nodes.doubted ?? false;
    if (change.type === 'deleted' && !isLost) this.#noteVanished(named, change.object);
    const back = labels?.[Labels.MachineName];
    const keys = [...named, ...this.#withoutNode(change.object)].map(keyOf);
    return back ? [...keys, makeKey(this.#namespace, back)] : keys;
  };

  /** Returns the machines that a user created with the provider ID of the Node, and that have no Node label yet. */
  #withoutNode({ spec: { providerID } }: Node): readonly Machine[] {
    const ofVm = providerID ? this.#caches.machines.store.byIndex('instance', instanceKey(providerID)) : [];
    return ofVm.filter(({ metadata }) => metadata.labels?.[Labels.Node] === undefined);
  }

  #noteVanished(machines: readonly Machine[], node: Node): void {
    for (const machine of machines) {
      if (machine.metadata.deletionTimestamp || !isNodeOf(machine, node)) continue;
      this.#memories.of(machine.metadata.uid).nodeVanished = true;
    }
  }

  readonly pod = (change: Change<Pod>): readonly Key[] => {
    const { nodeName } = change.object.spec;
    return nodeName ? this.#drainingOn(nodeName) : [];
  };

  readonly attachment = (change: Change<VolumeAttachment>): readonly Key[] => {
    const { nodeName, source } = change.object.spec;
    const volume = source.persistentVolumeName;
    const elsewhere = volume ? this.#caches.target?.attachments.store.byIndex('volume', volume) : undefined;
    const nodes = new Set([nodeName, ...(elsewhere ?? []).map(({ spec }) => spec.nodeName)]);
    return [
      ...[...nodes].flatMap((node) => this.#drainingOn(node)),
      ...(volume ? this.#byVolume.waitingFor(volume) : []),
    ];
  };

  #drainingOn(nodeName: string): readonly Key[] {
    const machines = this.#caches.machines.store.byIndex('node', nodeName);
    return machines.filter(mayDrain).map(keyOf);
  }

  /**
   * Returns the machines that may evict pods after a change of a PodDisruptionBudget, at most as many as the budget
   * allows.
   */
  readonly budget = (change: Change<PodDisruptionBudget>): readonly Key[] => {
    const waiting = this.#byBudget.waitingFor(change.key);
    if (waiting.length === 0) return [];
    const { status } = change.object;
    if (change.type === 'deleted') return waiting;
    // After a change of its spec, a budget allows no eviction until the disruption controller has updated the status.
    if (status?.observedGeneration !== change.object.metadata.generation) return [];
    return this.#byBudget.takeTurns(change.key, Math.max(status?.disruptionsAllowed ?? 0, 0));
  };

  waitFor(key: Key, budgets: readonly string[], volumes: readonly string[]): void {
    this.#byBudget.set(key, budgets);
    this.#byVolume.set(key, volumes);
  }

  ofClass(name: string): readonly Key[] {
    return this.#caches.machines.store.byIndex('class', name).map(keyOf);
  }
}

const mayDrain = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined ||
  (status?.currentStatus?.phase === 'Failed' && Boolean(status.currentStatus.preserveExpiryTime)) ||
  status?.conditions?.some(
    ({ type, reason }) => type === NodeConditions.InPlaceUpdate && reason === InPlaceUpdateReasons.SelectedForUpdate,
  ) === true;

/** Returns true if a change of a Node can change a decision, in contrast to a heartbeat of the kubelet. */
const nodeMatters = (before: Node, after: Node): boolean =>
  before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
  before.spec.providerID !== after.spec.providerID ||
  before.spec.unschedulable !== after.spec.unschedulable ||
  conditionsDiffer(mirrored(before.status?.conditions ?? []), after.status?.conditions ?? []) ||
  !jsonEquals(before.metadata.labels, after.metadata.labels) ||
  !jsonEquals(before.metadata.annotations, after.metadata.annotations) ||
  !jsonEquals(before.metadata.finalizers, after.metadata.finalizers) ||
  !jsonEquals(before.spec.taints, after.spec.taints) ||
  !jsonEquals(before.status?.capacity, after.status?.capacity) ||
  !jsonEquals(before.status?.volumesAttached, after.status?.volumesAttached) ||
  (after.spec.unschedulable === true && !jsonEquals(before.status?.volumesInUse, after.status?.volumesInUse));
