import { seededRandom, type TransportRequest, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Arm } from '../arm/client.ts';
import { Remembered } from '../arm/remembered.ts';
import { loadSdk } from '../arm/sdk.ts';
import { reportEvidence } from './evidence.ts';
import { Session } from './session.ts';

// The SDK is loaded before the test, because loading takes real time and the test uses a virtual clock.
await loadSdk();

const LOG = 'https://logs.example.net/boot/serial.log?sig=topsecret';
const VM = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/m-0';

type Answers = Readonly<Record<string, { readonly status?: number; readonly body: string }>>;

function sessionWith(answers: Answers) {
  const asked: { readonly origin: string; readonly request: TransportRequest }[] = [];
  const arm = new Arm({
    clock: new VirtualClock(),
    random: seededRandom(1),
    endpoint: 'https://management.example.com',
    userAgent: 'test',
    authorize: async () => 'Bearer token',
    connect: (origin) => async (request) => {
      asked.push({ origin, request });
      const { status = 200, body } = answers[`${request.method} ${request.path.replace(/\?.*/, '')}`] ?? {
        status: 404,
        body: '{"error":{"code":"NotFound","message":"no"}}',
      };
      return new Response(body, { status });
    },
  });
  const [images, terms] = [
    new Remembered<never>(new VirtualClock(), 0),
    new Remembered<unknown>(new VirtualClock(), 0),
  ];
  return { session: new Session({ arm, images, terms, lookups: new Map() }, new VirtualClock(), 's', 'g'), asked };
}

const signal = new AbortController().signal;
const view = {
  body: JSON.stringify({
    statuses: [
      { code: 'ProvisioningState/failed', displayStatus: 'Provisioning failed', message: 'OS did not come up' },
      { code: 'PowerState/running', displayStatus: 'VM running' },
    ],
    vmAgent: { statuses: [{ displayStatus: 'Not Ready', message: 'no heartbeat', time: '2026-01-01T00:00:00Z' }] },
  }),
};
const STATE =
  'virtual machine m-0: Provisioning failed (OS did not come up); VM running; VM agent: Not Ready since 2026-01-01T00:00:00Z (no heartbeat)';

test('evidence contains the state and the console of a VM, and no token is sent to the address of the console', async () => {
  const { session, asked } = sessionWith({
    [`GET ${VM}/instanceView`]: view,
    [`POST ${VM}/retrieveBootDiagnosticsData`]: { body: JSON.stringify({ serialConsoleLogBlobUri: LOG }) },
    'GET /boot/serial.log': { body: 'booting\npanic\n' },
  });
  expect(await reportEvidence(session, 'm-0', signal)).toEqual({ state: STATE, console: 'booting\npanic\n' });
  const last = asked.at(-1);
  expect(last?.origin).toBe('https://logs.example.net');
  expect(last?.request.path).toBe('/boot/serial.log?sig=topsecret');
  expect(Object.keys(last?.request.headers ?? {})).not.toContain('authorization');
  expect(asked[0]?.request.headers.authorization).toBe('Bearer token');
});

test.each<[what: string, answers: Answers, says: RegExp]>([
  [
    'boot diagnostics are off',
    {
      [`POST ${VM}/retrieveBootDiagnosticsData`]: {
        status: 409,
        body: '{"error":{"code":"Conflict","message":"disabled"}}',
      },
    },
    /mcm could not read its console output: .*disabled/s,
  ],
  [
    'there is no address',
    { [`POST ${VM}/retrieveBootDiagnosticsData`]: { body: '{}' } },
    /Azure stores no console output of the VM$/,
  ],
  [
    'the address is of plain http',
    {
      [`POST ${VM}/retrieveBootDiagnosticsData`]: {
        body: JSON.stringify({ serialConsoleLogBlobUri: 'http://logs.example.net/x?sig=topsecret' }),
      },
    },
    /could not read its console output: http:\/\/logs\.example\.net is not allowed/,
  ],
  [
    'the log is gone',
    { [`POST ${VM}/retrieveBootDiagnosticsData`]: { body: JSON.stringify({ serialConsoleLogBlobUri: LOG }) } },
    /could not read its console output: https:\/\/logs\.example\.net answers 404/,
  ],
])('without a console the state and the reason are reported: %s', async (_what, answers, says) => {
  const { session } = sessionWith({ [`GET ${VM}/instanceView`]: view, ...answers });
  const { state = '', console } = await reportEvidence(session, 'm-0', signal);
  expect(console).toBeUndefined();
  expect(state.startsWith(STATE)).toBe(true);
  expect(state).toMatch(says);
  expect(state).not.toContain('topsecret');
});

test('an error is thrown for a missing VM', async () => {
  await expect(reportEvidence(sessionWith({}).session, 'm-0', signal)).rejects.toThrow('NotFound');
});
