import { type Machine, type NodeCondition, NodeConditions, Taints } from '@mcm/api';
import type { Condition, Node } from '@mcm/kube';
import { goTime, millis } from '../values/timestamps.ts';
import type { MachineSettings } from './settings.ts';

/** The conditions that predicates read, of a Machine's status or of a Node. */
export type Conditions = readonly Pick<NodeCondition, 'type' | 'status'>[];

/**
 * Healthy: something is known, `Ready` (if there) is True, and no listed condition is anything but False. Types that
 * are not listed do not matter. Source: machine_util.go, isHealthy.
 */
export const isHealthy = (conditions: Conditions, unhealthyTypes: readonly string[]): boolean =>
  conditions.length > 0 &&
  conditions.every(({ type, status }) =>
    type === NodeConditions.Ready ? status === 'True' : !unhealthyTypes.includes(type) || status === 'False',
  );

/**
 * The conditions that speak against the node, in words: what {@link isHealthy} objects to. Empty for a healthy one.
 * @returns such as `Ready is Unknown (NodeStatusUnknown: Kubelet stopped posting node status.)`
 */
export function ailmentsOf(
  conditions: readonly Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>[],
  unhealthyTypes: readonly string[],
): string {
  if (conditions.length === 0) return 'no conditions are known of its node';
  const ready = conditions.filter(({ type }) => type === NodeConditions.Ready);
  const others = conditions.filter(({ type }) => type !== NodeConditions.Ready);
  // Of a node that is not heard of every condition is unknown: saying it once is enough.
  const unreachable = ready.some(({ status }) => status === 'Unknown');
  return [...ready, ...others.filter(({ status }) => !unreachable || status !== 'Unknown')]
    .filter((condition) => !isHealthy([condition], unhealthyTypes))
    .map(({ type, status, reason, message }) => {
      const why = [reason, message].filter(Boolean).join(': ');
      return `${type} is ${status}${why ? ` (${why})` : ''}`;
    })
    .join(', ');
}

/** Whether the node waits for components without which its pods cannot run; only the effect NoSchedule counts. */
export const waitsForCriticalComponents = (node: Node): boolean =>
  (node.spec.taints ?? []).some(
    ({ key, effect }) =>
      key === Taints.CriticalComponentsNotReady.key && effect === Taints.CriticalComponentsNotReady.effect,
  );

/**
 * Whether the mirrored conditions have to be written again: another status, another reason of an in-place update, or
 * another set of types. Heartbeats and messages alone do not count: they would cost a write a minute and node.
 */
export function conditionsDiffer(mirrored: readonly NodeCondition[], actual: readonly Condition[]): boolean {
  if (mirrored.length !== actual.length) return true;
  return actual.some((condition) => {
    const old = mirrored.find(({ type }) => type === condition.type);
    if (old?.status !== condition.status) return true;
    return condition.type === NodeConditions.InPlaceUpdate && old.reason !== condition.reason;
  });
}

/** A node's conditions as they are mirrored into the Machine's status. */
export const mirrored = (conditions: readonly Condition[]): NodeCondition[] =>
  conditions.map((condition) => ({
    type: condition.type,
    status: condition.status,
    ...(condition.reason === undefined ? {} : { reason: condition.reason }),
    ...(condition.message === undefined ? {} : { message: condition.message }),
    ...(condition.lastHeartbeatTime ? { lastHeartbeatTime: condition.lastHeartbeatTime } : {}),
    ...(condition.lastTransitionTime ? { lastTransitionTime: condition.lastTransitionTime } : {}),
  }));

/** Conditions as Go prints them; part of descriptions. */
export const printConditions = (conditions: readonly NodeCondition[]): string =>
  `[${conditions
    .map(
      (c) =>
        `{Type:${c.type} Status:${c.status} LastHeartbeatTime:${goTime(c.lastHeartbeatTime)} LastTransitionTime:${goTime(c.lastTransitionTime)} Reason:${c.reason ?? ''} Message:${c.message ?? ''}}`,
    )
    .join(' ')}]`;

/**
 * When the node will have been NotReady, or its file system read-only, for as long as the settings say; undefined if it
 * is neither. The Node tells, and the Machine's status only if that says nothing: a deletion no longer mirrors conditions,
 * and a node that has recovered since must not lose its pods to what was so before.
 */
export function unresponsiveAt(
  machine: Machine,
  node: Node | undefined,
  { unresponsiveNodeMs, readOnlyNodeMs }: Pick<MachineSettings, 'unresponsiveNodeMs' | 'readOnlyNodeMs'>,
): Date | undefined {
  const live = node?.status?.conditions ?? [];
  const isTold = live.some(({ type }) => type === NodeConditions.Ready);
  const conditions: readonly (NodeCondition | Condition)[] = isTold ? live : (machine.status?.conditions ?? []);
  const due = (type: string, good: string, ms: number): number | undefined => {
    const found = conditions.find((condition) => condition.type === type);
    return found && found.status !== good ? millis(found.lastTransitionTime) + ms : undefined;
  };
  const instants = [
    due(NodeConditions.Ready, 'True', unresponsiveNodeMs),
    due(NodeConditions.ReadonlyFilesystem, 'False', readOnlyNodeMs),
  ].filter((instant) => instant !== undefined);
  return instants.length > 0 ? new Date(Math.min(...instants)) : undefined;
}
