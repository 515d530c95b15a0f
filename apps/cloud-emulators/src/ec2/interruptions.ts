import type { InterruptionOrder } from '../server/emulator.ts';
import { terminate } from './actions.ts';
import type { CloudInstance } from './model.ts';
import type { Queue } from './queue.ts';
import type { Ec2State } from './state.ts';

const TYPES: Readonly<Record<InterruptionOrder['kind'], string>> = {
  Terminate: 'EC2 Spot Instance Interruption Warning',
  Rebalance: 'EC2 Instance Rebalance Recommendation',
  Ended: 'EC2 Instance State-change Notification',
  Maintenance: 'AWS Health Event',
  Freeze: 'AWS Health Event',
};

/** Returns an EventBridge event about an interruption. */
function eventOf(instanceId: string, region: string, order: InterruptionOrder, now: number, id: string): object {
  const { kind, noticeMs } = order;
  const start = new Date(now + noticeMs);
  const detail = (): object => {
    if (kind === 'Terminate') return { 'instance-id': instanceId, 'instance-action': 'terminate' };
    if (kind === 'Rebalance') return { 'instance-id': instanceId };
    if (kind === 'Ended') return { 'instance-id': instanceId, state: 'stopping' };
    return {
      service: 'EC2',
      eventTypeCode: 'AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED',
      eventTypeCategory: kind === 'Maintenance' ? 'scheduledChange' : 'accountNotification',
      startTime: start.toUTCString(),
      affectedEntities: [{ entityValue: instanceId }],
    };
  };
  return {
    version: '0',
    id,
    'detail-type': TYPES[kind],
    source: TYPES[kind] === 'AWS Health Event' ? 'aws.health' : 'aws.ec2',
    account: '000000000000',
    // The warning for a spot instance contains no deadline. The deadline is always two minutes after the time of the
    // event.
    time: new Date(kind === 'Terminate' ? start.getTime() - 120_000 : now).toISOString().replace(/\.\d+Z/, 'Z'),
    region,
    resources: [`arn:aws:ec2:${region}:instance/${instanceId}`],
    detail: detail(),
  };
}

/** Sends a message about an interruption to the queue, and terminates or stops the instance at the deadline. */
export function interrupt(cloud: Ec2State, queue: Queue, name: string, order: InterruptionOrder): boolean {
  const each = cloud.instances.find(({ tags, state }) => tags?.Name === name && isAlive(state));
  if (!each?.instanceId) return false;
  const id = each.instanceId;
  queue.send(eventOf(id, (each.zone ?? '').replace(/[a-z]$/, ''), order, cloud.now, `event-${id}-${cloud.now}`));
  if (order.kind !== 'Terminate' && order.kind !== 'Ended') return true;
  cloud.options.clock.setTimeout(() => {
    if (isAlive(each.state)) terminate(cloud, { 'InstanceId.1': id }, {});
  }, order.noticeMs);
  return true;
}

/**
 * Sends the EventBridge event about a stopped instance. EventBridge also sends the event if a client stopped the
 * instance.
 */
export function announceStop(cloud: Ec2State, queue: Queue, { instanceId, zone }: CloudInstance): void {
  const id = instanceId ?? '';
  const order = { kind: 'Ended', noticeMs: 0 } as const;
  queue.send(eventOf(id, (zone ?? '').replace(/[a-z]$/, ''), order, cloud.now, `stop-${id}-${cloud.now}`));
}

const isAlive = (state: CloudInstance['state']): boolean => state === 'pending' || state === 'running';
