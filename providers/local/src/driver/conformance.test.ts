import { type ConformanceTarget, runConformance, SCENARIOS, type World } from '@mcm/conformance';
import { handlerTransport, seededRandom, silentLogger, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { createCloud } from '../cloud/create-cloud.ts';
import { createLocalDriver } from './driver.ts';

const TOKEN = 'account-token-of-the-test';
const spec = { image: 'linux', zone: 'local-a', tags: { 'kubernetes.io/cluster/ours': '1' } };

function openCloud(): World {
  const clock = new VirtualClock();
  const cloud = createCloud({ clock, random: seededRandom(7), log: silentLogger, token: TOKEN });
  return {
    clock,
    connect: () => handlerTransport(cloud.fetch),
    runUntil: (done, options) => clock.runUntil(done, options),
    interrupt: (machineName, noticeMs) => {
      const vm = [...cloud.instances.list()].find(({ name }) => name === machineName);
      cloud.interruptions.announce(vm?.id ?? '', { kind: 'Terminate', noticeMs, detail: 'a test' });
    },
    close: () => cloud.close(),
  };
}

const refusal = (status: number, code: string) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ error: { code, message: '{message}' } }),
});

const target: ConformanceTarget = {
  name: 'local',
  openCloud,
  createDriver: ({ clock, connect }) => createLocalDriver({ clock, connect, defaults: { endpoint: 'http://cloud' } }),
  machineClass: { provider: 'local', providerSpec: spec },
  secret: { userData: '#cloud-config of the conformance test', token: TOKEN },
  dialect: {
    throttled: refusal(429, 'RequestLimitExceeded'),
    exhausted: refusal(409, 'InsufficientCapacity'),
    quota: refusal(403, 'QuotaExceeded'),
    unauthorized: refusal(401, 'Unauthenticated'),
  },
  listed: 501,
  alternative: { zone: 'local-b', machineType: 'large' },
  otherCluster: { ...spec, tags: { 'kubernetes.io/cluster/theirs': '1' } },
};

test.each(SCENARIOS.map(({ name }) => name))('the local driver conforms: %s', async (name) => {
  const { outcomes } = await runConformance(target, { only: name });
  for (const { scenario, state, why } of outcomes) {
    if (state === 'failed') expect.fail(`${scenario.name}: ${why}`);
  }
  expect(outcomes.length).toBeGreaterThan(0);
});
