import { buildMachineController } from '@mcm/core';
import {
  createClient,
  createMemoryLogger,
  createMetrics,
  createRecorder,
  handlerTransport,
  ObserveDecisions,
  observingClient,
  seededRandom,
  type Transport,
} from '@mcm/kube';
import { runManager } from '@mcm/machine-controller-manager';
import { createLocalDriver } from '@mcm/provider-local';
import { expect, test } from 'vitest';
import { NAMESPACE, World } from '../simulation/world/world.ts';

/**
 * Runs both controllers with --observe-only, together with two active controllers. The observing controllers must make
 * the decisions of the active controllers, but must not send writes.
 */

const MINUTE = 60_000;

function observe(world: World) {
  const { clock } = world;
  const log = createMemoryLogger();
  const metrics = createMetrics();
  const decisions = new ObserveDecisions({ clock, log, meters: metrics.meters });
  const sent: string[] = [];
  const cloud: string[] = [];
  const noting =
    (notes: string[], transport: Transport): Transport =>
    (request) => {
      if (request.method !== 'GET') notes.push(`${request.method} ${request.path}`);
      return transport(request);
    };
  const random = seededRandom(9);
  const real = createClient({ transport: noting(sent, world.transport()), userAgent: 'observer', clock, random });
  const client = observingClient(real, decisions);
  const runtime = { clock, random, log, freeze: true };
  const stop = new AbortController();
  const { ended } = runManager({ control: client, target: client, namespace: NAMESPACE, runtime }, {}, stop.signal);
  const local = createLocalDriver({
    clock,
    connect: () =>
      noting(
        cloud,
        handlerTransport((request) => Promise.resolve(world.cloud.fetch(request))),
      ),
  });
  const controller = buildMachineController({
    driver: local,
    observe: decisions,
    control: client,
    target: client,
    namespace: NAMESPACE,
    clock,
    random,
    secretRandom: random,
    log,
    recorder: createRecorder({ client, component: 'machine-controller', clock, log }),
    runtime,
  });
  const running = controller.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort(new Error('the end'));
    await Promise.allSettled([ended, running]);
  };
  /** Resolves with the number of observed decisions, by action and result. */
  const counts = async (): Promise<Map<string, number>> => {
    const { text } = await metrics.scrape();
    const lines = text.matchAll(/^mcm_observe_decisions_total\{what="([^"]+)",outcome="([^"]+)"\} (\d+)/gm);
    return new Map([...lines].map(([, what, outcome, count]) => [`${what}: ${outcome}`, Number(count)]));
  };
  return { sent, cloud, log, counts, end };
}

test('an observing controller sends nothing, and the running controllers do what it would have done', async () => {
  const world = await World.start({ maxSurge: 1 });
  const observer = observe(world);
  try {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    await world.change({ template: { spec: { class: { name: 'green' } } } });
    await world.untilSettled(2, 'green');
    await world.clock.advance(10 * MINUTE);
    expect(observer.sent).toEqual([]);
    expect(observer.cloud).toEqual([]);
    const counts = await observer.counts();
    expect(counts.get('create machinesets: same')).toBeGreaterThanOrEqual(2);
    expect(counts.get('create machines: same')).toBeGreaterThanOrEqual(2);
    expect(counts.get('create machines: different')).toBeUndefined();
    for (const what of ['create vm', 'delete vm'])
      expect(counts.get(`${what}: same`), what).toBe(counts.get(`${what}: wanted`));
    // An observing controller does not count an unsent request as a failure, and creates no token.
    expect([...counts.keys()].filter((each) => each.endsWith(': different'))).toEqual([]);
    expect([...counts.keys()].filter((each) => each.startsWith('create secrets'))).toEqual([]);
    const reported = observer.log.lines.filter(
      ({ message }) => message === 'The running controller executed the action that the observer also chose',
    );
    expect(reported.map(({ fields }) => fields.object)).toContain(
      `${NAMESPACE}/${(await world.sets())[0]?.metadata.name}`,
    );
    expect(observer.log.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
    expect(world.violations).toEqual([]);
  } finally {
    await observer.end();
    await world.close();
  }
});

test('a decision that the running controller does not execute within five minutes is logged and counted as different', async () => {
  const world = await World.start({ maxSurge: 1 });
  const observer = observe(world);
  try {
    world.network.cut('manager');
    await world.createDeployment(2);
    await world.clock.advance(10 * MINUTE);
    expect(observer.sent).toEqual([]);
    const counts = await observer.counts();
    // The observer counts each decision only once, at its first step.
    expect(counts.get('patch machinedeployments: wanted')).toBe(1);
    expect(counts.get('patch machinedeployments: different')).toBe(1);
    const reported = observer.log.lines.filter(({ message }) => message.startsWith('The running controller did not'));
    expect(reported.length).toBeGreaterThan(0);
    world.network.mend();
    await world.untilSettled(2, 'blue');
    expect(await world.machines()).toHaveLength(2);
  } finally {
    await observer.end();
    await world.close();
  }
});
