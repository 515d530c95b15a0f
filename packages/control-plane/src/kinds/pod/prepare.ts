import { isNumber, isRecord } from '../../apimachinery/objects/json-value.ts';
import type { StrategyContext } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { child, items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { quantityNanos } from '../../apimachinery/objects/quantity.ts';
import { mergeLabelKeys } from './label-keys.ts';

const QOS_RESOURCES = ['cpu', 'memory'];

/** Returns the total CPU and memory of containers, without amounts of zero. */
function qosSums(holders: readonly Plain[], list: 'requests' | 'limits'): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const holder of holders) {
    for (const name of QOS_RESOURCES) {
      const amount = quantityNanos(look(holder, list)[name]);
      if (amount > 0n) sums.set(name, (sums.get(name) ?? 0n) + amount);
    }
  }
  return sums;
}

/** Returns the QoS class of a pod. If the pod itself sets resources, they replace the resources of its containers. */
export function qosClass(spec: Plain): string {
  const containers = [...items(spec, 'containers'), ...items(spec, 'initContainers')];
  const holders = isRecord(spec.resources)
    ? [spec.resources]
    : containers.map((container) => look(container, 'resources'));
  const [requests, limits] = [qosSums(holders, 'requests'), qosSums(holders, 'limits')];
  if (requests.size + limits.size === 0) return 'BestEffort';
  const isLimited = holders.every((holder) =>
    QOS_RESOURCES.every((name) => quantityNanos(look(holder, 'limits')[name]) > 0n),
  );
  const isEqual = requests.size === limits.size && [...requests].every(([name, sum]) => limits.get(name) === sum);
  return isLimited && isEqual ? 'Guaranteed' : 'Burstable';
}

const gated = (now: Date): Plain => ({
  type: 'PodScheduled',
  status: 'False',
  lastProbeTime: null,
  lastTransitionTime: formatTime(now),
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
});

/** Sets the status of a new pod to Pending. */
export function preparePod(pod: ApiObject, { now }: StrategyContext): void {
  const spec = child(pod, 'spec');
  // The shortest grace period is one second, so a negative value becomes one second.
  const grace = spec.terminationGracePeriodSeconds;
  if (isNumber(grace) && grace < 0) spec.terminationGracePeriodSeconds = 1;
  mergeLabelKeys(pod);
  const status: Plain = { phase: 'Pending', qosClass: text(look(pod, 'status'), 'qosClass') || qosClass(spec) };
  if (items(spec, 'schedulingGates').length > 0) status.conditions = [gated(now)];
  pod.status = status;
}

const statusMounts = (status: Plain): Plain[] =>
  ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'].flatMap((list) =>
    items(status, list).flatMap((container) => items(container, 'volumeMounts')),
  );

const hasVolumeStatus = (status: Plain): boolean =>
  statusMounts(status).some(({ volumeStatus }) => volumeStatus !== undefined);

export function preparePodUpdate(pod: ApiObject, old: ApiObject, subresource: string): void {
  const status = pod.status;
  // The feature gate of this field is off, so the field stays only if the pod already has it.
  if (isRecord(status) && look(old, 'status').nodeAllocatableResourceClaimStatuses === undefined) {
    delete status.nodeAllocatableResourceClaimStatuses;
  }
  if (isRecord(status) && !hasVolumeStatus(look(old, 'status'))) {
    for (const mount of statusMounts(status)) delete mount.volumeStatus;
  }
  const before = look(old, 'status').qosClass;
  const isKept = subresource === 'status' && text(status, 'qosClass') !== '';
  if (isRecord(status) && before !== undefined && !isKept) status.qosClass = before;
}

/** Returns the default grace period of a pod. */
export function podGracePeriod(pod: ApiObject): number {
  const phase = look(pod, 'status').phase;
  const spec = look(pod, 'spec');
  if ((spec.nodeName ?? '') === '' || phase === 'Succeeded' || phase === 'Failed') return 0;
  const own = spec.terminationGracePeriodSeconds;
  if (typeof own === 'bigint') return Number(own);
  return typeof own === 'number' ? Math.max(own, own < 0 ? 1 : 0) : 30;
}
