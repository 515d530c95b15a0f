import type { InterruptionKind, InterruptionNotice } from '@mcm/core/driver';
import { z } from 'zod';
import { formatProviderId } from '../spec/provider-id.ts';

/** The time between the warning and the end of a spot instance. */
const SPOT_NOTICE_MS = 120_000;

/** Source: the reference of EventBridge, "Event structure". */
const event = z.looseObject({
  id: z.string(),
  'detail-type': z.string(),
  source: z.string(),
  time: z.string(),
  region: z.string(),
  detail: z.looseObject({}),
});
type Event = z.infer<typeof event>;

const instanceDetail = z.looseObject({ 'instance-id': z.string(), 'instance-action': z.string().optional() });
const stateDetail = z.looseObject({ 'instance-id': z.string(), state: z.string() });
const healthDetail = z.looseObject({
  service: z.string(),
  eventTypeCode: z.string().optional(),
  eventTypeCategory: z.string(),
  startTime: z.string().optional(),
  affectedEntities: z.array(z.looseObject({ entityValue: z.string() })).optional(),
});

const ENDED: ReadonlySet<string> = new Set(['stopping', 'stopped', 'shutting-down', 'terminated']);

/**
 * Returns the interruption notices in a message. The function reads the events that Karpenter reads: spot interruption
 * warnings, rebalance recommendations, state changes, and scheduled changes of AWS Health.
 */
export function noticesIn(body: string | undefined): readonly InterruptionNotice[] {
  const parsed = event.safeParse(jsonOf(body ?? ''));
  if (!parsed.success) return [];
  const { data } = parsed;
  switch (`${data.source} ${data['detail-type']}`) {
    case 'aws.ec2 EC2 Spot Instance Interruption Warning':
      return ofInstance(data, 'Terminate', SPOT_NOTICE_MS);
    case 'aws.ec2 EC2 Instance Rebalance Recommendation':
      return ofInstance(data, 'Rebalance');
    case 'aws.ec2 EC2 Instance State-change Notification':
      return ofState(data);
    case 'aws.health AWS Health Event':
      return ofHealth(data);
    default:
      return [];
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const after = (time: string, ms: number): string | undefined => {
  const at = Date.parse(time);
  return Number.isNaN(at) ? undefined : new Date(at + ms).toISOString();
};

const noticeOf = (
  { id, time, region }: Event,
  instanceId: string,
  kind: InterruptionKind,
  rest: { readonly deadline?: string | undefined; readonly detail: string },
): InterruptionNotice => ({
  id,
  providerId: formatProviderId(region, instanceId),
  kind,
  noticedAt: time,
  ...rest,
});

function ofInstance(data: Event, kind: InterruptionKind, noticeMs?: number): readonly InterruptionNotice[] {
  const detail = instanceDetail.safeParse(data.detail);
  if (!detail.success) return [];
  const { 'instance-id': instanceId, 'instance-action': action } = detail.data;
  const deadline = noticeMs === undefined ? undefined : after(data.time, noticeMs);
  const text = `${data['detail-type']}${action === undefined ? '' : `, action ${action}`}`;
  return [noticeOf(data, instanceId, kind, { deadline, detail: text })];
}

function ofState(data: Event): readonly InterruptionNotice[] {
  const detail = stateDetail.safeParse(data.detail);
  if (!detail.success || !ENDED.has(detail.data.state)) return [];
  const { 'instance-id': instanceId, state } = detail.data;
  return [noticeOf(data, instanceId, 'Ended', { deadline: data.time, detail: `EC2 instance is ${state}` })];
}

/** Returns the instances and the start time of an event of AWS Health. */
function ofHealth(data: Event): readonly InterruptionNotice[] {
  const detail = healthDetail.safeParse(data.detail);
  if (!detail.success) return [];
  const {
    service,
    eventTypeCategory,
    eventTypeCode = 'scheduled change',
    startTime = '',
    affectedEntities = [],
  } = detail.data;
  const deadline = after(startTime, 0);
  if (service !== 'EC2' || eventTypeCategory !== 'scheduledChange' || deadline === undefined) return [];
  return affectedEntities.map(({ entityValue }) =>
    noticeOf(data, entityValue, 'Maintenance', { deadline, detail: eventTypeCode }),
  );
}
