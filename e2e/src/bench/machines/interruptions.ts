import { type Machine, machines } from '@mcm/api';
import { createInformer, seededRandom } from '@mcm/kube';
import { Workload } from '../../simulation/world/workload.ts';
import { World } from '../../simulation/world/world.ts';
import { atMost, type Figure, percentile } from './figure.ts';

/**
 * In a simulation of the whole system, the cloud announces the interruption of all VMs at the same time, two minutes in
 * advance.
 */

const MACHINES = 100;
const PODS = 300;
const NOTICE_MS = 120_000;
const JOIN_MS = 30_000;

interface Times {
  readonly ready: readonly number[];
  readonly gone: readonly number[];
  readonly moved: number;
}

async function measure(world: World, signal: AbortSignal): Promise<Times> {
  const { admin, clock, cloud, log } = world;
  await world.createDeployment(MACHINES);
  await world.untilSettled(MACHINES, 'blue');
  const workload = await Workload.create(world, { replicas: PODS, minAvailable: Math.floor(PODS / 2) });
  const old = new Set((await world.machines()).map(({ metadata }) => metadata.uid));
  const since = clock.now().getTime();
  const seconds = (): number => (clock.now().getTime() - since) / 1_000;
  const [ready, gone] = [new Map<string, number>(), new Map<string, number>()];
  const informer = createInformer<Machine>(admin, machines, { clock, log, random: seededRandom(0) });
  informer.onChange(({ type, object: { metadata, status } }) => {
    const { uid } = metadata;
    if (type === 'deleted' && old.has(uid)) gone.set(uid, seconds());
    if (!old.has(uid) && !ready.has(uid) && status?.currentStatus?.phase === 'Running') ready.set(uid, seconds());
  });
  void informer.run(signal).catch((error: unknown) => world.reporter.violate(String(error)));
  for (const { id } of cloud.instances.list())
    cloud.interruptions.announce(id, { kind: 'Terminate', noticeMs: NOTICE_MS, detail: 'all at once' });
  await world.until(async () => gone.size === MACHINES && ready.size >= MACHINES && workload.ready === PODS);
  const moved = seconds();
  workload.close();
  return { ready: [...ready.values()], gone: [...gone.values()], moved };
}

/** Measures {@link MACHINES} interruptions at the same time. */
export async function* interruptionFigures(): AsyncGenerator<Figure> {
  const world = await World.start({ interruptions: true, kubelets: { joinDelay: JOIN_MS }, maxSurge: MACHINES });
  const end = new AbortController();
  try {
    const { ready, gone, moved } = await measure(world, end.signal);
    const name = `${MACHINES} simultaneous interruption notices of ${NOTICE_MS / 1_000} s`;
    const p50 = (times: readonly number[]): string => `p50 ${percentile(times, 0.5).toFixed(1)} s`;
    yield atMost(
      `${name}: time until the replacement is Running, 99th percentile`,
      percentile(ready, 0.99),
      JOIN_MS / 1_000 + 10,
      's',
      p50(ready),
    );
    yield atMost(
      `${name}: time until the node is drained and the VM deleted, 99th percentile`,
      percentile(gone, 0.99),
      NOTICE_MS / 1_000,
      's',
      p50(gone),
    );
    yield atMost(`${name}: time until all ${PODS} pods are ready on other nodes`, moved, NOTICE_MS / 1_000, 's');
  } finally {
    end.abort(new Error('closed'));
    await world.close();
  }
}
