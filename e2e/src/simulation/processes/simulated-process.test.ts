import { SimulatedProcess } from '@mcm/conformance/fleet';
import { sleep, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { answerOf } from '../network/answer.ts';

test('after a freeze, a process handles its responses before its timers', async () => {
  const clock = new VirtualClock();
  const order: string[] = [];
  const frozen = new SimulatedProcess(undefined, () => undefined);
  const server: Transport = async () => {
    await sleep(clock, 2_000);
    return answerOf(200, '{}');
  };
  const own = frozen.clock(clock);
  own.setTimeout(() => order.push('timer'), 1_000);
  void frozen
    .wrap(server)({ method: 'GET', path: '/', headers: {} })
    .then(async (answer) => {
      await answer.text();
      for (let step = 0; step < 50; step += 1) await Promise.resolve();
      order.push('response');
    });
  await clock.settle();
  frozen.freeze();
  await clock.advance(5_000);
  expect(order).toEqual([]);
  frozen.thaw();
  await clock.advance(0);
  expect(order).toEqual(['response', 'timer']);
});
