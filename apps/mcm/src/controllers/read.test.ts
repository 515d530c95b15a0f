import { startControlPlane } from '@mcm/control-plane';
import { createClient, type Lease, leases, VirtualClock } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { notActing } from './health.ts';
import { readControllers } from './read.ts';

const NAMESPACE = 'default';
const NAME = 'machine-controller-manager';

/** Creates a Lease whose last renewal was the given number of seconds ago. */
async function setUp(secondsAgo: number) {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, controllers: false });
  onTestFinished(() => plane.close());
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const resource = client.resource<Lease>(leases, NAMESPACE);
  const time = (): string => new Date(clock.now().getTime() - secondsAgo * 1_000).toISOString().replace('Z', '000Z');
  await resource.create({
    metadata: { name: NAME },
    spec: { holderIdentity: 'host_1', leaseDurationSeconds: 15, renewTime: time() },
  });
  const renew = () => resource.patch(NAME, { type: 'merge', body: { spec: { renewTime: time() } } });
  const started = clock.now().getTime();
  const reading = readControllers({ client, namespace: NAMESPACE, clock });
  return { clock, renew, reading, passed: () => clock.now().getTime() - started };
}

test('reports a stopped leader after the second read', async () => {
  const { clock, reading, passed } = await setUp(60);
  await clock.advance(3_000);
  expect(notActing(await reading).map(({ name }) => name)).toEqual([NAME]);
  expect(passed()).toBe(3_000);
});

test('a leader whose clock is a minute behind counts as working if it renews its Lease during the second read', async () => {
  const { clock, renew, reading } = await setUp(60);
  await clock.advance(1_800);
  await renew();
  await clock.advance(1_200);
  expect(notActing(await reading)).toEqual([]);
});

test.each([5, 700])('a Lease that was renewed %d s ago needs no second read', async (seconds) => {
  const { reading, passed } = await setUp(seconds);
  await reading;
  expect(passed()).toBe(0);
});
