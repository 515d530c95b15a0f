import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { handlerTransport, sleep, type Transport, VirtualClock } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { delayedWatch } from '../testing/delayed-watch.ts';
import { Rig } from './testing/rig.ts';

const SECOND = 1_000;
const ready = (status: 'True' | 'False') => [
  { type: 'Ready', status, reason: 'Test', lastTransitionTime: '2026-01-01T00:00:00Z' },
];

async function startTwo() {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  let isUnreachable = false;
  const end = Promise.withResolvers<void>();
  const slow =
    (transport: Transport): Transport =>
    async (request) => {
      await sleep(clock, 5);
      return transport(request);
    };
  const deaf = handlerTransport(async (request) => {
    const response = await plane.fetch(request);
    const hears = !/\/nodes\?.*watch=true/.test(request.url);
    return hears ? response : delayedWatch(response, () => (isUnreachable ? end.promise : Promise.resolve()));
  });
  const first = new Rig({ clock, plane, wrap: slow });
  const second = new Rig({ clock, plane: { transport: deaf }, wrap: slow, sharedCloud: first.cloud, seed: 2 });
  onTestFinished(async () => {
    end.resolve();
    const ended = Promise.all([first.kill(), second.kill()]);
    await clock.advance(SECOND);
    await ended;
    await plane.close();
  });
  await first.createClass();
  first.start();
  second.start();
  await first.createMachine('m');
  await first.until(async () => (await first.phase('m')) === 'Running');
  await clock.advance(20 * SECOND);
  const silence = () => {
    isUnreachable = true;
  };
  return { clock, first, second, silence };
}

/** Counts writes. */
async function countWrites(rig: Rig): Promise<() => Promise<number>> {
  const version = async () => Number((await rig.machine('m'))?.metadata.resourceVersion);
  const before = await version();
  return async () => (await version()) - before;
}

test('a controller whose watch of Nodes has stopped reads the Node before it contradicts another one again', async () => {
  const { clock, first, second, silence } = await startTwo();
  await first.conditions('m', ready('False'));
  await clock.advance(10 * SECOND);
  expect(await first.phase('m')).toBe('Unknown');
  silence();
  const writes = await countWrites(first);
  await first.conditions('m', ready('True'));
  for (let i = 0; i < 50 && (await writes()) < 20; i++) await clock.advance(100);
  expect(await writes()).toBeLessThan(10);
  expect(await first.phase('m')).toBe('Running');
  expect(second.controller?.rechecks()).toEqual({ all: 1, stale: 1 });
});
