import { createGcpDriver } from '@mcm/provider-gcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inAwsEnvironment } from './aws-environment.ts';
import { abortAfter, reply, silence } from './endpoints/wire.ts';
import type { FleetProvider } from './fleet.ts';
import { aws, azure, gcp } from './providers.ts';
import { refused } from './rows/stage.ts';
import { wired } from './wired.ts';

/** Tests for bugs of the original's drivers. */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

const PROVIDERS: readonly (readonly [string, FleetProvider<never, never>])[] = [
  ['aws', aws() as never],
  ['azure', azure() as never],
  ['gcp', gcp() as never],
];
const CALLS = ['create', 'status', 'delete', 'list'] as const;
const EACH = PROVIDERS.flatMap(([name, provider]) => CALLS.map((call) => [name, call, provider] as const));

describe('an invalid or foreign answer is not treated as an empty success', () => {
  test.each(EACH)('%s: %s is an error, and neither a success nor a missing VM', async (_name, call, provider) => {
    for (const body of ['<html><body>a proxy’s page</body></html>', 'nothing that anybody reads', '']) {
      const { wire, stage, left } = wired(provider);
      wire.script = () => reply(200, body, { 'content-type': 'text/html' });
      const thrown = await stage[call]().then(
        (value: unknown) => ({ code: `a success: ${JSON.stringify(value)}` }),
        (error: unknown) => error,
      );
      expect(['Internal', 'Unavailable', 'Uninitialized', 'Unknown'], body).toContain(
        (thrown as { code: string }).code,
      );
      expect(wire.sent.length).toBeGreaterThan(0);
      expect(left()).toEqual([]);
    }
  });
});

test.each(EACH)(
  'a null provider spec that ends the process: %s: %s is refused without a request',
  async (_name, call, provider) => {
    const { wire, stage } = wired(provider);
    for (const spec of [null, undefined, 'text', []]) {
      const thrown: unknown = await stage[call]({ spec }).catch((error: unknown) => error);
      expect(['InvalidArgument', 'Internal'], String(spec)).toContain((thrown as { code?: string }).code);
    }
    expect(wire.sent).toEqual([]);
  },
);

test.each(EACH)(
  'a cancelled call that counts as Internal: %s: %s is Canceled, at once',
  async (_name, call, provider) => {
    const { wire, stage, clock } = wired(provider);
    wire.script = silence;
    const start = clock.monotonic();
    await refused(stage[call]({ signal: abortAfter(clock, 2_000) }), 'Canceled');
    expect(clock.monotonic() - start).toBeLessThan(2_100);
  },
);

test('an Azure data disk listed as a machine of its own, which orphan collection would then delete', async () => {
  const spec = azure().machineClass.providerSpec as { properties: { storageProfile: object } };
  const disk = { lun: 0, diskSizeGB: 20, storageAccountType: 'Premium_LRS', imageRef: { id: '/i' } };
  const dataDisks = [
    { ...disk, name: 'seed' },
    { ...disk, lun: 1 },
  ];
  const properties = { ...spec.properties, storageProfile: { ...spec.properties.storageProfile, dataDisks } };
  const { stage, left } = wired(azure(), { properties });
  await stage.create();
  expect(left().filter((each) => each.endsWith('-data-disk'))).toEqual([
    'disk m-1-1-data-disk',
    'disk m-1-seed-0-data-disk',
  ]);
  expect((await stage.list()).map(({ machineName }) => machineName)).toEqual(['m-1']);
});

test.each([
  ['https://evil.example/token'],
  ['http://oauth2.googleapis.com/token'],
  ['https://oauth2.googleapis.com.evil.example/token'],
  ['https://user@evil.example:443/.googleapis.com'],
])('a token host taken unchecked from the Secret: gcp: %s gets no assertion', async (token_uri) => {
  const { wire, stage } = wired({
    ...gcp(),
    driver: (context) => createGcpDriver({ ...context, readFile: async () => undefined }),
  });
  const account = { type: 'service_account', project_id: 'p', client_email: 'e@p', private_key: 'k', token_uri };
  await refused(
    stage.list({ secret: { userData: '#', serviceAccountJSON: JSON.stringify(account) } }),
    'Internal',
    'token_uri',
  );
  expect(wire.sent).toEqual([]);
});
