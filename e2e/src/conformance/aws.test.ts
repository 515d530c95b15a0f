import { Ec2Endpoint } from '@mcm/cloud-emulators';
import { type ConformanceTarget, SCENARIOS } from '@mcm/conformance';
import { VirtualClock } from '@mcm/kube';
import { createAwsDriver } from '@mcm/provider-aws';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { AWS_VARIABLES, inAwsEnvironment } from '../drivers/aws-environment.ts';
import { targetOnMoto } from './moto.ts';
import { configOf, expectScenariosToPass, expectScenarioToPass } from './run-scenarios.ts';

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

const driver: Pick<ConformanceTarget, 'createDriver'> = {
  createDriver: ({ clock, random, connect }) =>
    createAwsDriver({
      clock,
      random,
      connect,
      environment: { variables: AWS_VARIABLES, readFile: async () => undefined },
      settings: { interruptionQueue: 'mcm-interruptions' },
    }),
};

const target = (visibleAfterMs: number): ConformanceTarget => ({
  name: 'aws',
  openCloud: () => {
    const clock = new VirtualClock({ quietTurns: 8 });
    const cloud = new Ec2Endpoint({ clock, pageSize: 5, shutdownMs: 60_000, visibleAfterMs });
    return {
      clock,
      connect: () => cloud.transport,
      inventory: () =>
        cloud.instances.flatMap(({ instanceId, state }) =>
          state === 'terminated' || state === 'shutting-down' ? [] : [instanceId ?? ''],
        ),
      interrupt: (machineName, noticeMs) => {
        cloud.interrupt(machineName, { kind: 'Terminate', noticeMs });
      },
      runUntil: (done, options) => clock.runUntil(done, options),
    };
  },
  ...driver,
  ...configOf('aws'),
});

test.each(SCENARIOS.map(({ name }) => name))('the AWS driver conforms: %s', (name) =>
  expectScenarioToPass(target(0), name),
);

test.each([
  'creation',
  'a crash between any two requests of a creation',
  'lost responses to the requests of a creation',
  'simultaneous creation of many machines',
])('the AWS driver conforms although new VMs are visible only after a delay: %s', (name) =>
  expectScenarioToPass(target(4_000), name),
);

/** Uses a moto server as the EC2 API: `MCM_MOTO_URL=http://127.0.0.1:5000`. */
const { MCM_MOTO_URL: server } = process.env;

describe.skipIf(!server)('on moto', () => {
  test('the AWS driver conforms on moto', { timeout: 600_000 }, async () => {
    await expectScenariosToPass(
      { ...(await targetOnMoto(server ?? '')), ...driver },
      {
        otherwise: [
          // moto ignores client tokens, so a repeated launch creates a second VM.
          'repeated creation finds the same VM',
          'a crash between any two requests of a creation',
          'lost responses to the requests of a creation',
          // moto refuses to terminate an instance again, because its network interface is already deleted.
          'deletion of a VM that no longer exists',
          'deletion of an orphan',
          'lost responses to the requests of a deletion',
          // If several filters have the same name, moto uses only the last one.
          'the list excludes VMs of other clusters',
        ],
        // moto returns all VMs on one page.
        skipped: ['the list contains the VMs of all pages'],
      },
    );
  });
});
