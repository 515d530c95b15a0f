import {
  Annotations,
  DEFAULT_MACHINE_PRIORITY,
  type Machine,
  machines,
  TRIGGERED_DELETION_PRIORITY,
  TRUE_LOWER,
} from '@mcm/api';
import {
  again,
  type Controller,
  createController,
  defined,
  done,
  ignoreNotFound,
  isReady,
  type Key,
  type Node,
  nodes,
  type Outcome,
} from '@mcm/kube';
import { annotationOf, isDone } from '../conditions/predicates.ts';
import { ConfigAnnotations, NodeAnnotations } from '../constants/annotations.ts';
import { DaemonStates } from '../constants/states.ts';
import type { ConfigContext } from '../controllers/caches.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { referencesOf } from '../server/machines.ts';
import { type MachineCaches, machineFleet, nodeNameOf } from './fleet.ts';
import { hasApplied } from './replace.ts';

/** A machine counts as updating for this time. After this time, mcm replaces the machine if it is unhealthy. */
const UPDATE_MS = 3_600_000;
const RENEW_MS = 1_200_000;

/** The annotations to change; the value null removes an annotation. */
type Changes = Readonly<Record<string, string | null>>;

/** The changes that the update of a node requires: on the Machine, and on the Node for the autoscaler. */
export interface CompanionPlan {
  readonly machine: Changes;
  readonly node: Changes;
  readonly againMs?: number;
}

const NOTHING: CompanionPlan = { machine: {}, node: {} };

/**
 * Plans the changes of a machine and its node.
 * @param node undefined if the machine has no node
 * @param now milliseconds
 */
export function planCompanion(machine: Machine, node: Node | undefined, now: number): CompanionPlan {
  const { annotations = {}, deletionTimestamp } = machine.metadata;
  if (deletionTimestamp !== undefined || !node) return NOTHING;
  const state = annotationOf(node, NodeAnnotations.State);
  const working = state === DaemonStates.Working || state === DaemonStates.Rebooting;
  const changes: Record<string, string | null> = {};
  set(changes, annotations, ConfigAnnotations.ConfigState, state === '' ? null : state);
  const until = Date.parse(annotations[ConfigAnnotations.UpdateInProgressUntil] ?? '');
  const left = Number.isNaN(until) ? 0 : until - now;
  // While a node is unreachable, the controller does not extend the update time of its machine. When this time ends,
  // mcm replaces the machine.
  const renews = working && left < RENEW_MS && (Number.isNaN(until) || isReady(node));
  if (!working) set(changes, annotations, ConfigAnnotations.UpdateInProgressUntil, null);
  else if (renews) changes[ConfigAnnotations.UpdateInProgressUntil] = new Date(now + UPDATE_MS).toISOString();
  if (isDone(node) && !hasApplied(machine)) changes[ConfigAnnotations.ConfigApplied] = TRUE_LOWER;
  prefer(changes, annotations, state === DaemonStates.Unreconcilable);
  const waits = (renews ? UPDATE_MS : left) - RENEW_MS;
  const renewal = working && waits >= 0 ? { againMs: waits + 1_000 } : {};
  return { machine: changes, node: keepFromAutoscaler(node, working), ...renewal };
}

/**
 * Removes the annotations of this controller from a machine that belongs to no pool, and from the node of the machine.
 */
export function planRelease(machine: Machine, node: Node | undefined): CompanionPlan {
  const { annotations = {}, deletionTimestamp } = machine.metadata;
  if (deletionTimestamp !== undefined) return NOTHING;
  const changes: Record<string, string | null> = {};
  set(changes, annotations, ConfigAnnotations.ConfigState, null);
  set(changes, annotations, ConfigAnnotations.UpdateInProgressUntil, null);
  prefer(changes, annotations, false);
  return { machine: changes, node: node ? keepFromAutoscaler(node, false) : {} };
}

function set(
  changes: Record<string, string | null>,
  has: Record<string, string>,
  key: string,
  value: string | null,
): void {
  if ((has[key] ?? null) !== value) changes[key] = value;
}

/** Lowers the deletion priority of a machine that cannot be updated, so that a scale-in deletes the machine first. */
function prefer(changes: Record<string, string | null>, has: Record<string, string>, first: boolean): void {
  const ours = has[ConfigAnnotations.PriorityLowered] !== undefined;
  const marked = has[Annotations.MarkedForDeletionTime] !== undefined;
  const rank = has[Annotations.Priority] ?? String(DEFAULT_MACHINE_PRIORITY);
  const [normal, lowered] = [String(DEFAULT_MACHINE_PRIORITY), String(TRIGGERED_DELETION_PRIORITY)];
  if (first && !marked) {
    // If another client has set the priority, the controller keeps that priority.
    if (ours || rank !== normal) return;
    changes[Annotations.Priority] = lowered;
    changes[ConfigAnnotations.PriorityLowered] = 'true';
    return;
  }
  if (!ours) return;
  changes[ConfigAnnotations.PriorityLowered] = null;
  if (!marked && rank === lowered) changes[Annotations.Priority] = normal;
}

/**
 * Prevents the autoscaler from removing a node during its update, and keeps the annotation of other clients. If another
 * program removes `scale-down-disabled` during the update, this controller sets the annotation again.
 */
function keepFromAutoscaler(node: Node, working: boolean): Changes {
  const { annotations = {} } = node.metadata;
  const ours = annotations[ConfigAnnotations.ScaleDownDisabledByUs] !== undefined;
  const forbidden = annotations[Annotations.ScaleDownDisabled] !== undefined;
  const byMcm = annotations[Annotations.ScaleDownDisabledByMCM] !== undefined;
  if (!working) {
    if (!ours) return {};
    return defined({
      [Annotations.ScaleDownDisabled]: !byMcm ? null : undefined,
      [ConfigAnnotations.ScaleDownDisabledByUs]: null,
    });
  }
  if (forbidden) return {};
  return { [Annotations.ScaleDownDisabled]: 'true', [ConfigAnnotations.ScaleDownDisabledByUs]: 'true' };
}

/** Creates the controller that marks Machines and Nodes during updates, for pools that refer to machines. */
export function createCompanionController(context: ConfigContext, own: MachineCaches): Controller {
  const { caches, clock, random, log, metrics, client, target = client } = context;
  const fleet = machineFleet(own);
  const pools = (): readonly MachineConfigPool[] => caches.pools.store.list();
  const reconcile = async (key: Key): Promise<Outcome> => {
    const machine = own.machines.store.get(key);
    if (!machine) return done;
    const node = caches.nodes.store.get(nodeNameOf(machine));
    const isMember = fleet.poolsOf(machine, pools()).length > 0;
    const plan = isMember ? planCompanion(machine, node, clock.now().getTime()) : planRelease(machine, node);
    const { name, namespace, uid } = machine.metadata;
    if (Object.keys(plan.machine).length > 0) {
      const body = { metadata: { uid, annotations: plan.machine } };
      const answer = await ignoreNotFound(client.resource(machines, namespace).patch(name, { type: 'merge', body }));
      if (answer) own.machines.recordWrite(answer);
    }
    if (node && Object.keys(plan.node).length > 0) {
      // The write has the observed version as a precondition, because mcm may set the annotation at the same time.
      const { uid: nodeUid, resourceVersion } = node.metadata;
      const version = resourceVersion === undefined ? {} : { resourceVersion };
      const body = { metadata: { uid: nodeUid, ...version, annotations: plan.node } };
      const answer = await ignoreNotFound(target.resource(nodes).patch(node.metadata.name, { type: 'merge', body }));
      if (answer) caches.nodes.recordWrite(answer);
    }
    return plan.againMs === undefined ? done : again(plan.againMs);
  };
  const controller = createController({
    name: 'machine',
    concurrency: 4,
    clock,
    random,
    log,
    reconcile,
    of: own.machines,
    metrics,
  });
  controller.watch(own.machines, ({ key }) => [key]);
  // A user may create a pool after its machines, or delete the pool before its machines.
  controller.watch(caches.pools, (change) => {
    const refs = referencesOf(change.object);
    if (change.type === 'updated' && JSON.stringify(referencesOf(change.old)) === JSON.stringify(refs)) return [];
    const before = change.type === 'updated' ? referencesOf(change.old) : [];
    const found = [...before, ...refs].flatMap((ref) => fleet.resolve(ref)?.machines ?? []);
    return found.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
  });
  controller.watch(caches.nodes, (change) => {
    // Returns the values of a Node whose change starts a reconcile. When the Node becomes Ready after a reboot, the
    // controller extends the update time of its machine.
    const facts = (node: Node) =>
      [NodeAnnotations.State, Annotations.ScaleDownDisabled]
        .map((key) => annotationOf(node, key))
        .concat(String(isReady(node)), String(isDone(node)))
        .join(' ');
    if (change.type === 'updated' && facts(change.old) === facts(change.object)) return [];
    return fleet
      .machinesOf(change.object.metadata.name)
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  });
  return controller;
}
