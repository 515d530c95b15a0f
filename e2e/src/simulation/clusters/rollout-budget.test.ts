import { type MachineDeployment, machineDeployments } from '@mcm/api';
import { type ConfigMap, configMaps, LeaseAnnotations, type Transport, type TransportRequest } from '@mcm/kube';
import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { answerOf } from '../network/answer.ts';
import { FleetWorld } from './fleet-world.ts';
import type { FleetDefect } from './replica.ts';
import { BUDGET } from './rollout-verifier.ts';

const SECOND = 1_000;

const isClaim = ({ method, path }: TransportRequest): boolean =>
  method === 'PATCH' && path.includes(`/configmaps/${BUDGET}`);

interface Body {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

const misreadsLimit = (transport: Transport): Transport => {
  const misread = (text: string): string => text.replaceAll('"maxClusters":"1"', '"maxClusters":"9"');
  return async (request) => {
    const answer = await transport(request);
    if (!request.path.includes('/configmaps')) return answer;
    return {
      status: answer.status,
      headers: answer.headers,
      text: async () => misread(await answer.text()),
      get body() {
        return answer.body && misreadChunks(answer.body, misread);
      },
    };
  };
};

async function* misreadChunks(chunks: AsyncIterable<Uint8Array>, misread: (text: string) => string) {
  for await (const chunk of chunks) yield new TextEncoder().encode(misread(new TextDecoder().decode(chunk)));
}

const believesClaims = (transport: Transport): Transport => {
  return async (request) => {
    const answer = await transport(request);
    if (!isClaim(request) || answer.status < 300) return answer;
    const stored = await transport({ ...request, method: 'GET', body: undefined });
    const object = JSON.parse(await stored.text()) as Body;
    const { annotations } = (JSON.parse(String(request.body)) as Body).metadata;
    const resourceVersion = String(Number.MAX_SAFE_INTEGER);
    return answerOf(200, JSON.stringify({ ...object, metadata: { ...object.metadata, annotations, resourceVersion } }));
  };
};

/** A defective replica that never records the rollouts of canary clusters. */
const forgetsCanaries = (transport: Transport): Transport => {
  return async (request) => {
    if (!isClaim(request)) return transport(request);
    const body = JSON.parse(String(request.body)) as Body;
    const record: unknown = JSON.parse(body.metadata.annotations?.[LeaseAnnotations.FleetRollouts] ?? '{}');
    const text = JSON.stringify({ ...(record as object), canaries: {} });
    const metadata = { ...body.metadata, annotations: { [LeaseAnnotations.FleetRollouts]: text } };
    return transport({ ...request, body: JSON.stringify({ metadata }) });
  };
};

test.runIf(isThorough).each<[what: string, defect: FleetDefect['seed'], violation: RegExp]>([
  ['misreads the limit', misreadsLimit, /^[234] clusters have a claim \(.*\), more than the limit of 1$/],
  ['treats each claim as written', believesClaims, /without a claim of the rollout budget$/],
  [
    'does not record the rollouts of canary clusters',
    forgetsCanaries,
    /get a claim although the rollouts of the canary clusters c1/,
  ],
])('a replica that %s is reported', async (_, seed, violation) => {
  const world = await FleetWorld.start({
    seed: 1,
    clusters: 4,
    replicas: 3,
    skewMs: [0],
    killPoint: () => undefined,
    restartMs: () => 2 * SECOND,
    defect: seed === undefined ? {} : { seed },
    budget: { maxClusters: seed === forgetsCanaries ? 4 : 1, soak: '0s' },
  });
  await world.clock.advance(60 * SECOND);
  world.wires.slow('fleet', SECOND / 2);
  for (const name of world.clusters) await world.change(name, { machineClass: 'green' });
  for (let look = 0; look < 60 && world.reporter.violations.length === 0; look += 1)
    await world.clock.advance(5 * SECOND);
  expect(world.reporter.violations).toContainEqual(expect.stringMatching(violation));
  await world.close();
});

test('the canary cluster rolls out first, and the other clusters wait for its soak time and for a claim', async () => {
  const world = await FleetWorld.start({
    seed: 1,
    clusters: 4,
    replicas: 2,
    skewMs: [0],
    killPoint: () => undefined,
    restartMs: () => 2 * SECOND,
    defect: {},
    budget: { maxClusters: 1, soak: '1m' },
  });
  await world.clock.advance(60 * SECOND);
  expect(await world.mismatch()).toBeUndefined();
  for (const name of world.clusters) await world.change(name, { machineClass: 'green' });
  const done: string[] = [];
  const waited = new Set<string>();
  let soaked = 0;
  for (let look = 0; look < 600 && done.length < world.clusters.length; look += 1) {
    await world.clock.advance(5 * SECOND);
    if (done.length === 1 && done[0] === 'c1') soaked += 5;
    for (const name of world.clusters) {
      const { items } = await world.seedAdmin.resource<MachineDeployment>(machineDeployments, name).list();
      for (const { type, reason = '' } of items[0]?.status?.conditions ?? [])
        if (type === 'RolloutWaiting') waited.add(`${name} ${reason}`);
      const all = await world.machines(name);
      const isGreen = all.every(
        ({ spec, status }) => spec.class.name === 'green' && status?.currentStatus?.phase === 'Running',
      );
      if (isGreen && !done.includes(name)) done.push(name);
    }
  }
  expect([...done].sort()).toEqual(world.clusters);
  expect(done[0]).toBe('c1');
  expect(soaked).toBeGreaterThan(60);
  expect([...waited].sort()).toEqual(['c2 RolloutBudget', 'c3 RolloutBudget', 'c4 RolloutBudget']);
  await world.clock.advance(60 * SECOND);
  const object = await world.seedAdmin.resource<ConfigMap>(configMaps, 'fleet').get(BUDGET);
  expect(JSON.parse(object.metadata.annotations?.[LeaseAnnotations.FleetRollouts] ?? '')).toEqual({
    claims: {},
    canaries: { c1: { state: 'done', since: expect.any(String) } },
  });
  expect(world.rollouts?.verified).toBeGreaterThanOrEqual(8);
  expect(world.reporter.violations).toEqual([]);
  await world.close();
});
