import { startRestorablePlane } from '@mcm/control-plane';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { silentLogger } from '../log/memory-logger.ts';
import { secrets } from '../types/core.ts';
import { runElected } from './run-elected.ts';

async function led(writesAfter: number, restores: boolean): Promise<number> {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const plane = await startRestorablePlane({ clock, random: () => random.next(), controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const stop = new AbortController();
  const lease = { namespace: 'default', name: 'lock' };
  const work = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  const end = runElected({ client, lease, identity: 'a', clock, random, log: silentLogger, signal: stop.signal }, work);
  onTestFinished(async () => {
    stop.abort(new Error('test over'));
    await end;
    await plane.close();
  });
  await clock.advance(10_000);
  const backup = plane.snapshot();
  await clock.advance(10_000);
  if (restores) await plane.restore(backup);
  for (let n = 0; n < writesAfter; n++)
    await client.resource(secrets, 'default').create({ metadata: { name: `s-${n}`, namespace: 'default' } });
  await clock.advance(10_000);
  return client.history.rollbacks;
}

test('a Lease older than the last write proves a restore, even if the version of the server has increased since', async () => {
  expect(await led(100, true)).toBe(1);
});

test('a Lease with normal renewals is no evidence of a restore', async () => {
  expect(await led(100, false)).toBe(0);
});
