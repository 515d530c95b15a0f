import { createClient, seededRandom, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NO_DRAIN_MEMORY } from './observation.ts';
import { evictPods } from './perform.ts';
import { later, look, withVolume } from './testing.ts';

const status = (code: number, reason: string): Response =>
  Response.json(
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason },
    { status: code },
  );

test('refusals of one kind are counted in a row, another answer begins anew, and a pod that goes takes its volumes on the way', async () => {
  const answers = [
    () => status(429, 'TooManyRequests'),
    () => status(429, 'TooManyRequests'),
    () => status(500, 'InternalError'),
    () => Response.json({ kind: 'Status', status: 'Success' }, { status: 201 }),
  ];
  const transport: Transport = async () => answers.shift()?.() ?? status(404, 'NotFound');
  const client = createClient({ transport, userAgent: 't', clock: new VirtualClock(), random: seededRandom(1) });
  const pod = withVolume('db');
  const memory = { drain: NO_DRAIN_MEMORY };
  const seen: string[] = [];
  for (let i = 0; i < 4; i++) {
    const scope = { o: { drain: look([pod]) }, memory, now: later(i), signal: new AbortController().signal };
    await evictPods(client, [pod], scope as never);
    const attempt = memory.drain.attempts.get(pod.uid);
    seen.push(`${attempt?.result} ${attempt?.count}`);
    expect(memory.drain.moves.has(pod.uid)).toBe(attempt?.result === 'asked');
  }
  expect(seen).toEqual(['blocked 1', 'blocked 2', 'failed 1', 'asked 1']);
});
