import { createHash } from 'node:crypto';
import { formatTime } from '@mcm/api';
import type { Condition, Draft, Node, Taint } from '@mcm/kube';
import { defined } from '@mcm/kube';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';
import type { Instance, MachineType } from '../../machine/model.ts';
import { formatProviderId } from '../../spec/provider-id.ts';
import type { BootConfig } from './user-data.ts';

export const KUBELET_VERSION = 'v1.36.0-hollow';
const REGION = 'local';
const MAX_PODS = '110';

export interface NodeFacts {
  readonly name: string;
  readonly instance: Instance;
  readonly machineType: MachineType;
  readonly boot: BootConfig;
  readonly behaviour: KubeletBehaviour;
}

export function draftNode(facts: NodeFacts, now: Date, ready: boolean): Draft<Node> {
  const { name, instance, boot } = facts;
  const taints = boot.taints?.map(
    ({ key, value, effect }): Taint => defined({ key, effect, value: value || undefined }),
  );
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: nodeLabels(facts) },
    spec: defined({
      providerID: instance.providerId ?? formatProviderId(instance),
      taints,
    }),
    status: nodeStatus(facts, now, ready),
  };
}

export function nodeLabels({ name, instance, boot }: NodeFacts): Record<string, string> {
  return {
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'node.kubernetes.io/instance-type': instance.machineType,
    'topology.kubernetes.io/region': REGION,
    'topology.kubernetes.io/zone': instance.zone,
    ...boot.nodeLabels,
  };
}

export function nodeStatus(facts: NodeFacts, now: Date, ready: boolean): NonNullable<Node['status']> {
  const { name, instance, machineType } = facts;
  const capacity: Record<string, string> = defined({
    cpu: String(machineType.cpus),
    memory: `${machineType.memoryGi}Gi`,
    'ephemeral-storage': '100Gi',
    pods: MAX_PODS,
    'nvidia.com/gpu': machineType.gpus > 0 ? String(machineType.gpus) : undefined,
  });
  return {
    addresses: [
      { type: 'InternalIP', address: instance.privateIp },
      { type: 'Hostname', address: name },
    ],
    capacity,
    allocatable: capacity,
    conditions: nodeConditions(facts.behaviour, now, ready),
    nodeInfo: nodeInfo(instance),
  };
}

function nodeInfo({ id, image, createdAt }: Instance): Record<string, string> {
  const uuid = (of: string): string => {
    const hex = createHash('sha256').update(of).digest('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
  };
  return {
    architecture: 'amd64',
    bootID: uuid(`${id} ${createdAt}`),
    containerRuntimeVersion: 'hollow://1.0.0',
    kernelVersion: '6.12.0-hollow',
    kubeProxyVersion: '',
    kubeletVersion: KUBELET_VERSION,
    machineID: uuid(id).replaceAll('-', ''),
    operatingSystem: 'linux',
    osImage: image,
    systemUUID: uuid(id),
  };
}

/**
 * The conditions that the kubelet reports in addition to Ready. Each entry contains the type, and the reason and the
 * message for a healthy node.
 */
const STANDARD: readonly (readonly [type: string, reason: string, message: string])[] = [
  ['MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
];

/** Returns the conditions of a Node, with the current time. */
export function nodeConditions(behaviour: KubeletBehaviour, now: Date, ready: boolean): Condition[] {
  const time = formatTime(now);
  const condition = (type: string, status: Condition['status'], reason: string, message: string): Condition => ({
    type,
    status,
    lastHeartbeatTime: time,
    lastTransitionTime: time,
    reason,
    message,
  });
  const ordered = new Map(Object.entries(behaviour.conditions ?? {}));
  const conditions = STANDARD.map(([type, reason, message]) => {
    const status = ordered.get(type) ?? 'False';
    ordered.delete(type);
    return status === 'False'
      ? condition(type, status, reason, message)
      : condition(type, status, 'OrderedByOperator', 'requested by the local cloud API');
  });
  const wanted = ordered.get('Ready');
  ordered.delete('Ready');
  for (const [type, status] of ordered)
    conditions.push(condition(type, status, 'OrderedByOperator', 'requested by the local cloud API'));
  const status = wanted ?? (ready ? 'True' : 'False');
  conditions.push(
    status === 'True'
      ? condition('Ready', status, 'KubeletReady', 'kubelet is posting ready status')
      : condition('Ready', status, 'KubeletNotReady', 'container runtime network not ready'),
  );
  return conditions;
}

/** Keeps the transition times of conditions whose status did not change. */
export function carryTransitions(next: readonly Condition[], last: readonly Condition[]): Condition[] {
  const known = new Map(last.map((condition) => [condition.type, condition]));
  return next.map((condition) => {
    const before = known.get(condition.type);
    if (before?.status !== condition.status || !before.lastTransitionTime) return condition;
    return { ...condition, lastTransitionTime: before.lastTransitionTime };
  });
}
