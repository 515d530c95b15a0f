import { seededRandom, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Arm } from './client.ts';

/** A client whose cloud gives these answers, one after the other. */
function armOf(answers: readonly { readonly status: number; readonly body?: object }[]) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const arm = new Arm({
    clock,
    random: seededRandom(1),
    endpoint: 'https://arm.example',
    userAgent: 'test',
    authorize: async () => undefined,
    connect: () => async (request) => {
      const { status, body } = answers[asked.push(request.method) - 1] ?? { status: 500 };
      const text = body === undefined ? '' : JSON.stringify(body);
      return { status, headers: { get: () => null }, text: async () => text, body: null };
    },
  });
  const request = { method: 'PUT', path: '/nic', version: '1', body: {} };
  const run = () => clock.ended(arm.run(request, 600_000, new AbortController().signal), { maxMs: 600_000 });
  return { run, asked };
}

const READY = { id: 'x', properties: { provisioningState: 'Succeeded' } };
const UNTOLD = { id: 'x', properties: {} };

test.each([
  ['200 without a state is the end', [{ status: 200, body: UNTOLD }], UNTOLD, ['PUT']],
  [
    '201 without a state is a beginning',
    [
      { status: 201, body: UNTOLD },
      { status: 200, body: READY },
    ],
    READY,
    ['PUT', 'GET'],
  ],
  [
    'what is read without a state is ready',
    [
      { status: 201, body: UNTOLD },
      { status: 200, body: UNTOLD },
    ],
    UNTOLD,
    ['PUT', 'GET'],
  ],
  ['200 without a body says nothing', [{ status: 200 }, { status: 200, body: READY }], READY, ['PUT', 'GET']],
])('%s', async (_what, answers, ended, requests) => {
  const { run, asked } = armOf(answers);
  expect(await run()).toEqual(ended);
  expect(asked).toEqual(requests);
});
