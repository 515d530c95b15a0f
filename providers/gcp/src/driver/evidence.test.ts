import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Gce } from '../gce/client.ts';
import { reportEvidence } from './evidence.ts';

const AT = '/compute/v1/projects/p/zones/z/instances/m-0';

function placeWith(answers: Readonly<Record<string, { readonly status?: number; readonly body: object }>>) {
  const gce = new Gce({
    clock: new VirtualClock(),
    endpoint: 'https://compute.example.com',
    userAgent: 'test',
    authorize: async () => 'Bearer token',
    connect: () => async (request) => {
      const { status = 200, body } = answers[`${request.method} ${request.path}`] ?? {
        status: 404,
        body: { error: { code: 404, message: 'not found', errors: [{ reason: 'notFound' }] } },
      };
      return new Response(JSON.stringify(body), { status });
    },
  });
  return { gce, project: 'p', zone: 'z' };
}

const signal = new AbortController().signal;
const instance = {
  body: { name: 'm-0', status: 'TERMINATED', statusMessage: 'preempted', creationTimestamp: '2026-01-01T00:00:00Z' },
};
const STATE = 'instance m-0 of zone z, created at 2026-01-01T00:00:00Z, is TERMINATED (preempted)';
const PORT = `GET ${AT}/serialPort?port=1&start=-65536`;

test.each([
  ['all of it', '0', 'first\nlast\n', 'first\nlast\n'],
  ['the end of a long console, which starts with a whole line', '4711', 'cret\nlast\n', 'last\n'],
])('evidence contains the state and the serial port of a VM: %s', async (_what, start, contents, console) => {
  const place = placeWith({ [`GET ${AT}`]: instance, [PORT]: { body: { contents, start, next: '9999' } } });
  expect(await reportEvidence(place, 'm-0', signal)).toEqual({ state: STATE, console });
});

test('if Google refuses the serial port, the evidence contains the state and the reason', async () => {
  const refusal = { status: 403, body: { error: { code: 403, message: 'serial port is disabled' } } };
  const reported = await reportEvidence(placeWith({ [`GET ${AT}`]: instance, [PORT]: refusal }), 'm-0', signal);
  expect(reported.console).toBeUndefined();
  expect(reported.state).toMatch(
    /^instance m-0 .*; mcm could not read its serial port output: .*serial port is disabled/,
  );
});

test('an error is thrown for a missing VM', async () => {
  await expect(reportEvidence(placeWith({}), 'm-0', signal)).rejects.toThrow('not found');
});
