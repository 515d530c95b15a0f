import { type Machine, type NodeCondition, NodeConditions, Taints } from '@mcm/api';
import type { Condition, Node } from '@mcm/kube';
import { defined } from '@mcm/kube';
import { goTime, millis } from '../values/timestamps.ts';
import type { MachineSettings } from './settings.ts';

export type Conditions = readonly Pick<NodeCondition, 'type' | 'status'>[];

/**
 * Returns true if the conditions of a node are healthy and not empty. On a healthy node, the condition `Ready` is True
 * or absent, and each condition of a listed type is False or absent. Source: machine_util.go, isHealthy.
 */
export const isHealthy = (conditions: Conditions, unhealthyTypes: readonly string[]): boolean =>
  conditions.length > 0 &&
  conditions.every(({ type, status }) =>
    type === NodeConditions.Ready ? status === 'True' : !unhealthyTypes.includes(type) || status === 'False',
  );

/**
 * Returns a text with the conditions that make a node unhealthy, or an empty text for a healthy node.
 * @returns for example `Ready is Unknown (NodeStatusUnknown: Kubelet stopped posting node status.)`
 */
export function describeUnhealthy(
  conditions: readonly Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>[],
  unhealthyTypes: readonly string[],
): string {
  if (conditions.length === 0) return 'the Node of the machine has no conditions';
  const ready = conditions.filter(({ type }) => type === NodeConditions.Ready);
  const others = conditions.filter(({ type }) => type !== NodeConditions.Ready);
  // If the kubelet does not report, every condition is Unknown, so the text contains only the condition `Ready`.
  const unreachable = ready.some(({ status }) => status === 'Unknown');
  return [...ready, ...others.filter(({ status }) => !unreachable || status !== 'Unknown')]
    .filter((condition) => !isHealthy([condition], unhealthyTypes))
    .map(({ type, status, reason, message }) => {
      const why = [reason, message].filter(Boolean).join(': ');
      return `${type} is ${status}${why ? ` (${why})` : ''}`;
    })
    .join(', ');
}

/** Returns true if the Node has the taint of missing critical components with the effect NoSchedule. */
export const waitsForCriticalComponents = (node: Node): boolean =>
  (node.spec.taints ?? []).some(
    ({ key, effect }) =>
      key === Taints.CriticalComponentsNotReady.key && effect === Taints.CriticalComponentsNotReady.effect,
  );

/**
 * The prefix of the taints that the node readiness controller of Kubernetes SIGs adds. A node has a readiness taint
 * until it meets all its readiness rules.
 */
const READINESS_PREFIX = 'readiness.k8s.io/';

export const readinessTaints = (node: Node): string[] =>
  (node.spec.taints ?? []).map(({ key }) => key).filter((key) => key.startsWith(READINESS_PREFIX));

/** Heartbeats and messages would cause one write per minute and node, so the comparison ignores them. */
export function conditionsDiffer(mirrored: readonly NodeCondition[], actual: readonly Condition[]): boolean {
  if (mirrored.length !== actual.length) return true;
  return actual.some((condition) => {
    const old = mirrored.find(({ type }) => type === condition.type);
    if (old?.status !== condition.status) return true;
    return condition.type === NodeConditions.InPlaceUpdate && old.reason !== condition.reason;
  });
}

export const mirrored = (conditions: readonly Condition[]): NodeCondition[] =>
  conditions.map((condition) =>
    defined({
      type: condition.type,
      status: condition.status,
      reason: condition.reason,
      message: condition.message,
      lastHeartbeatTime: condition.lastHeartbeatTime || undefined,
      lastTransitionTime: condition.lastTransitionTime || undefined,
    }),
  );

export const printConditions = (conditions: readonly NodeCondition[]): string =>
  `[${conditions
    .map(
      (c) =>
        `{Type:${c.type} Status:${c.status} LastHeartbeatTime:${goTime(c.lastHeartbeatTime)} LastTransitionTime:${goTime(c.lastTransitionTime)} Reason:${c.reason ?? ''} Message:${c.message ?? ''}}`,
    )
    .join(' ')}]`;

/**
 * Returns the time since which a node does not respond, or undefined for a responsive node. During a deletion, mcm does
 * not update the copy of the conditions on the Machine, so the conditions of the Node take precedence.
 */
export function unresponsiveAt(
  machine: Machine,
  node: Node | undefined,
  { unresponsiveNodeMs, readOnlyNodeMs }: Pick<MachineSettings, 'unresponsiveNodeMs' | 'readOnlyNodeMs'>,
): Date | undefined {
  const live = node?.status?.conditions ?? [];
  const isReported = live.some(({ type }) => type === NodeConditions.Ready);
  const conditions: readonly (NodeCondition | Condition)[] = isReported ? live : (machine.status?.conditions ?? []);
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
