import { expect, test } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { pause } from '../clock/clock.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { ClusterGone, type ClusterRun, ServedCluster } from './served-cluster.ts';

const MEMBER = {
  name: 'c1',
  namespace: 'c1',
  kubeconfig: 'k',
  source: 'Secret c1/fleet-kubeconfig',
  folder: undefined,
  about: undefined,
};

test('an empty namespace is served no more, and a later namespace of the same name is a new cluster', async () => {
  const clock = new VirtualClock();
  const runs: ClusterRun[] = [];
  const cluster = new ServedCluster('c1', {
    serve: async (run) => {
      runs.push(run);
      run.progress.state('serving');
      await pause(clock, 1_000, AbortSignal.any([run.signal, run.deletion]));
      return run.deletion.aborted ? 'empty' : 'stopped';
    },
    probe: async () => undefined,
    elsewhere: () => false,
    reachChanged: () => undefined,
    clock,
    random: seededRandom(1),
    log: createMemoryLogger(),
    failed: () => undefined,
  });
  cluster.engage(MEMBER);
  cluster.assign('a', true);
  cluster.deleting();
  await clock.advance(60_000);
  cluster.assign('b', false);
  cluster.assign('a', true);
  await clock.advance(60_000);
  expect([runs.length, cluster.status.state]).toEqual([1, 'stopping']);
  await cluster.disengage(new ClusterGone('the namespace does not exist any more'));
  cluster.engage(MEMBER);
  cluster.assign('a', true);
  await clock.advance(500);
  expect([runs.length, cluster.status.state, runs.at(-1)?.deletion.aborted]).toEqual([2, 'serving', false]);
  await cluster.disengage(new Error('the process stops'));
});
