import { expect, test } from 'vitest';
import { noticesIn } from './messages.ts';

/** Returns an event from the documentation of AWS, with replaced identifiers. */
const event = (type: string, detail: object, change: object = {}): string =>
  JSON.stringify({
    version: '0',
    id: 'e-1',
    'detail-type': type,
    source: type.startsWith('AWS Health') ? 'aws.health' : 'aws.ec2',
    account: '123456789012',
    time: '2026-01-01T12:00:00Z',
    region: 'eu-west-1',
    resources: [],
    detail,
    ...change,
  });
const health = (change: object = {}) =>
  event('AWS Health Event', {
    service: 'EC2',
    eventTypeCode: 'AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED',
    eventTypeCategory: 'scheduledChange',
    startTime: 'Thu, 15 Jan 2026 05:00:00 GMT',
    affectedEntities: [{ entityValue: 'i-1' }, { entityValue: 'i-2' }],
    ...change,
  });

test.each<[what: string, body: string, kinds: readonly (readonly [string, string, string | undefined])[]]>([
  [
    'a spot instance ends two minutes after its warning',
    event('EC2 Spot Instance Interruption Warning', { 'instance-id': 'i-1', 'instance-action': 'terminate' }),
    [['Terminate', 'aws:///eu-west-1/i-1', '2026-01-01T12:02:00.000Z']],
  ],
  [
    'a rebalance recommendation has no deadline',
    event('EC2 Instance Rebalance Recommendation', { 'instance-id': 'i-1' }),
    [['Rebalance', 'aws:///eu-west-1/i-1', undefined]],
  ],
  [
    'a stopped instance has ended',
    event('EC2 Instance State-change Notification', { 'instance-id': 'i-1', state: 'stopping' }),
    [['Ended', 'aws:///eu-west-1/i-1', '2026-01-01T12:00:00Z']],
  ],
  [
    'a scheduled change names all its instances',
    health(),
    [
      ['Maintenance', 'aws:///eu-west-1/i-1', '2026-01-15T05:00:00.000Z'],
      ['Maintenance', 'aws:///eu-west-1/i-2', '2026-01-15T05:00:00.000Z'],
    ],
  ],
  [
    'an instance that starts is no interruption',
    event('EC2 Instance State-change Notification', { 'instance-id': 'i-1', state: 'running' }),
    [],
  ],
  ['a change of another service is no interruption', health({ service: 'RDS' }), []],
  ['a notification without a change is no interruption', health({ eventTypeCategory: 'accountNotification' }), []],
  ['a change without a start is no interruption', health({ startTime: 'soon' }), []],
  [
    'an event of another source is no interruption',
    event('EC2 Spot Instance Interruption Warning', { 'instance-id': 'i-1' }, { source: 'me' }),
    [],
  ],
  ['an event without an instance is no interruption', event('EC2 Spot Instance Interruption Warning', {}), []],
  ['a body that is not an event contains no interruption', 'hello', []],
  ['JSON that is no event is none', '[1]', []],
])('%s', (_, body, expected) => {
  expect(noticesIn(body).map(({ kind, providerId, deadline }) => [kind, providerId, deadline])).toEqual(expected);
});
