import { VirtualClock } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import type { SilentProgram } from '../controllers/programs.ts';
import { Silence } from './silence.ts';

function setUp() {
  const clock = new VirtualClock();
  const cloud = { spec: { name: 'local-cloud' }, state: 'ready' as 'ready' | 'failed', address: 'http://x', pid: 7 };
  const requests = { hang: false, open: 0 };
  const ask = (_: string, signal: AbortSignal): Promise<void> => {
    if (!requests.hang) return Promise.resolve();
    requests.open += 1;
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      resume = () => {
        requests.open -= 1;
        resolve();
      };
    });
  };
  let resume = (): void => undefined;
  const silence = new Silence({ clock, programs: [cloud], cloud: 'local-cloud', ask });
  const records: (readonly SilentProgram[])[] = [];
  const end = new AbortController();
  onTestFinished(() => end.abort());
  void silence.run({
    health: () => silence.health(),
    record: (silent) => records.push(silent),
    onCheck: () => undefined,
    signal: end.signal,
  });
  return { clock, cloud, requests, records, silence, resume: () => resume() };
}

test('a cloud that does not respond is reported after 10 s, and recorded until it responds', async () => {
  const { clock, requests, records, silence, resume } = setUp();
  await clock.advance(60_000);
  expect([silence.health(), records]).toEqual([[], []]);
  const since = clock.now().toISOString();
  requests.hang = true;
  await clock.advance(10_000);
  expect(silence.health()).toEqual([]);
  await clock.advance(4_000);
  expect(silence.health()).toMatchObject([
    { name: 'local-cloud', since, reason: 'the API of the cloud does not respond (process 7)' },
  ]);
  expect(records).toEqual([[{ name: 'local-cloud', since, pid: 7 }]]);
  expect(requests.open).toBe(1);
  requests.hang = false;
  resume();
  await clock.advance(2_000);
  expect([silence.health(), records.at(-1)]).toEqual([[], []]);
});

test('a cloud that restarts is not reported', async () => {
  const { clock, cloud, requests, silence } = setUp();
  await clock.advance(4_000);
  requests.hang = true;
  await clock.advance(6_000);
  cloud.state = 'failed';
  await clock.advance(20_000);
  expect(silence.health()).toEqual([]);
});
