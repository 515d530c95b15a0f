import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ReceivedEvents } from './received-events.ts';

test('a process may have used its state from before the last event for the duration of a pass', async () => {
  const clock = new VirtualClock();
  const received = new ReceivedEvents(clock);
  const behind = () => [0, 1_000].map((passMs) => received.behindMs(['machines'], passMs));
  received.lacks('/api/machines');
  await clock.advance(4_000);
  expect(behind()).toEqual([4_000, 4_000]);
  received.receivedUntil('/api/machines', undefined);
  expect(behind()).toEqual([0, 4_000]);
  expect(received.behindMs(['nodes'], 1_000)).toBe(0);
  await clock.advance(1_001);
  expect(behind()).toEqual([0, 0]);
});

test('a later event does not hide the long delay of an event just before', async () => {
  const clock = new VirtualClock();
  const received = new ReceivedEvents(clock);
  received.lacks('/api/machines');
  await clock.advance(4_000);
  received.receivedUntil('/api/machines', clock.monotonic());
  await clock.advance(500);
  received.receivedUntil('/api/machines', undefined);
  expect(received.behindMs(['machines'], 1_000)).toBe(4_000);
  await clock.advance(501);
  expect(received.behindMs(['machines'], 1_000)).toBe(500);
});
