import { MachineError } from '@mcm/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inAwsEnvironment } from './aws-environment.ts';
import { aws } from './providers.ts';
import { wired } from './wired.ts';

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

async function launched(change: object) {
  const cloud = wired(aws({ srcAndDstChecksEnabled: true }), change);
  const { providerId: providerID } = await cloud.stage.create();
  await cloud.stage.initialize({ providerID });
  return { ...cloud, providerID };
}

test('a VM with hibernation hibernates and starts again', async () => {
  const { stage, wire, providerID } = await launched({ hibernationOptions: { configured: true } });
  await stage.stop({ providerID }, true);
  const stops = wire.sent.filter(({ body }) => body?.includes('Action=StopInstances'));
  expect(new Set(stops.map(({ body }) => body?.includes('Hibernate=true')))).toEqual(new Set([true]));
  expect(await stage.status({ providerID })).toMatchObject({ ending: 'stopped' });
  await stage.start({ providerID });
  expect(await stage.status({ providerID })).not.toHaveProperty('ending');
});

test('without hibernation in the class, the error names the field, and EC2 gets no request', async () => {
  const { stage, cloud, providerID } = await launched({});
  const refused = await stage.stop({ providerID }, true).catch((thrown: unknown) => MachineError.from(thrown));
  expect(refused).toMatchObject({
    code: 'InvalidArgument',
    message: expect.stringContaining('providerSpec.hibernationOptions.configured'),
  });
  expect(cloud.counts.get('StopInstances')).toBeUndefined();
  await stage.stop({ providerID });
  expect(await stage.status({ providerID })).toMatchObject({ ending: 'stopped' });
});
