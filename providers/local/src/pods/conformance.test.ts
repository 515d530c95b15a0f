import { type ConformanceTarget, runConformance, SCENARIOS, type World } from '@mcm/conformance';
import { startControlPlane } from '@mcm/control-plane';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { createLocalDriver } from '../driver/driver.ts';
import { authorized, podRig } from '../testing/pod-rig.ts';

const TOKEN = 'token-of-the-cluster-of-pods';
const spec = { image: 'registry/node:v1', namespace: 'infra', ipPoolNameV4: 'pool-v4' };

async function openCloud(): Promise<World> {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, adminToken: TOKEN, controllers: ['garbagecollector'] });
  const rig = podRig({ clock, plane });
  for (const name of ['infra', 'theirs'])
    await rig.admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
  const names = async (kind: string): Promise<string[]> => {
    const { items } = await rig.admin.request<{ items: { metadata: { name: string } }[] }>(
      'GET',
      `/api/v1/namespaces/infra/${kind}?labelSelector=machine-provider%3Dlocal`,
    );
    return items.map(({ metadata }) => `${kind}/${metadata.name}`);
  };
  return {
    clock,
    connect: () => rig.transport,
    inventory: async () => {
      await clock.advance(60_000); // The garbage collector deletes the Secret and the Service after the Pod.
      return (await Promise.all(['pods', 'secrets', 'services'].map(names))).flat();
    },
    runUntil: (done, options) => clock.runUntil(done, options),
    close: () => plane.close(),
  };
}

const refusal = (code: number, reason: string, words = '') => ({
  status: code,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message: `${words}{message}`,
  }),
});

const kubeconfig = (): string =>
  [
    'current-context: c',
    'contexts: [{name: c, context: {cluster: c, user: u}}]',
    'clusters: [{name: c, cluster: {server: "https://127.0.0.1"}}]',
    `users: [{name: u, user: {token: ${TOKEN}}}]`,
  ].join('\n');

const target: ConformanceTarget = {
  name: 'local, in pods',
  openCloud,
  createDriver: ({ clock, connect }) =>
    createLocalDriver({
      clock,
      connect,
      backend: 'pod',
      pods: {
        random: seededRandom(3),
        connectCluster: ({ server, authorization }) => authorized(connect(server), authorization),
      },
    }),
  machineClass: { provider: 'local', providerSpec: spec },
  secret: { userData: '#!/bin/sh of the conformance test', kubeconfig: kubeconfig() },
  dialect: {
    throttled: refusal(429, 'TooManyRequests'),
    exhausted: refusal(403, 'Forbidden', 'pods "x" is forbidden: exceeded quota: pods, '),
    quota: refusal(403, 'Forbidden', 'pods "x" is forbidden: exceeded quota: pods, '),
    unauthorized: refusal(401, 'Unauthorized'),
  },
  otherCluster: { ...spec, namespace: 'theirs' },
  volumes: [{ source: { hostPath: { path: '/data' } }, id: null }],
  listed: 12,
};

const SKIPPED: Readonly<Record<string, RegExp>> = {
  initialize: /no method initialize/,
  'the list contains the VMs of all pages': /one page of the list contained all/,
  alternatives: /no field for an alternative offering/,
  'stop and start': /no methods stop and start/,
  'stop: deletion': /no methods stop and start/,
  'start: capacity': /no methods stop and start/,
  tag: /no method tag/,
  'tag: two changes at the same time': /no method tag/,
  'tag: lost responses': /no method tag/,
  'tag: deletion': /no method tag/,
  interruption: /announces no interruptions/,
  'interruption: wait': /announces no interruptions/,
};

test.each(SCENARIOS.map(({ name }) => name))('the local driver conforms in pods: %s', async (name) => {
  const { outcomes } = await runConformance(target, { only: name });
  for (const { scenario, state, why } of outcomes) {
    if (state === 'passed') continue;
    const expected = SKIPPED[scenario.name];
    if (state === 'failed' || !expected?.test(why ?? '')) expect.fail(`${scenario.name}: ${state}: ${why}`);
  }
  expect(outcomes.length).toBeGreaterThan(0);
});
