import { expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { Answers } from './answers.ts';

const request = (path: string) => ({ method: 'GET', path, headers: {} });

test('only requests with an answer count, from the time of the request', async () => {
  const clock = new VirtualClock();
  const answers = new Answers(clock);
  const answer = { status: 200, afterMs: 0 };
  const transport = answers.wrap(async () => {
    await clock.advance(answer.afterMs);
    if (answer.status === 0) throw new Error('ECONNREFUSED');
    return Response.json({}, { status: answer.status });
  });
  expect(answers.ageMs()).toBeUndefined();
  await transport(request('/api/v1/nodes?watch=true'));
  answer.status = 503;
  await transport(request('/api/v1/nodes'));
  answer.status = 0;
  await expect(transport(request('/api/v1/nodes'))).rejects.toThrow('ECONNREFUSED');
  expect(answers.ageMs()).toBeUndefined();
  Object.assign(answer, { status: 404, afterMs: 3_000 });
  await transport(request('/api/v1/nodes/dummy-name'));
  expect(answers.ageMs()).toBe(3_000);
  await clock.advance(1_000);
  expect(answers.ageMs()).toBe(4_000);
});
