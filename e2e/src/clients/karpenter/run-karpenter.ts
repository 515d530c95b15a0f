import { setTimeout as sleep } from 'node:timers/promises';
import { type KubeClient, type Node, nodes, pods, realClock } from '@mcm/kube';
import { deployments } from '../autoscaler/pod-load.ts';
import type { Check } from '../autoscaler/start-autoscaler.ts';
import { type KarpenterRun, nodeClaims, withKarpenter } from './start-karpenter.ts';

const NAME = 'load';
const NAMESPACE = 'default';
const SIZES = [4, 10, 2, 12, 0];
const ROUNDS = Number(process.env.MCM_KARPENTER_ROUNDS ?? 2);
const LIMIT_MS = 180_000;
const LOOK_EVERY_MS = 500;

const nodesFor = (podCount: number): number => Math.ceil(podCount / 2);

async function createLoad(client: KubeClient): Promise<void> {
  const labels = { app: NAME };
  const container = { name: 'app', image: 'app', resources: { requests: { cpu: '1700m' } } };
  await client.resource(deployments, NAMESPACE).create({
    metadata: { name: NAME },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
    },
  });
}

const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;

async function isSettled(client: KubeClient, podCount: number): Promise<boolean> {
  const { items } = await client.resource(pods, NAMESPACE).list();
  const running = items.filter(({ metadata, status }) => status?.phase === 'Running' && !metadata.deletionTimestamp);
  const present = (await client.resource(nodes).list()).items;
  const claims = (await client.resource(nodeClaims).list()).items;
  return (
    running.length === podCount &&
    items.length === podCount &&
    present.length === nodesFor(podCount) &&
    present.every(isReady) &&
    claims.length === present.length
  );
}

async function followLoad({ client, ended }: KarpenterRun): Promise<Check[]> {
  await createLoad(client);
  const outcomes: Check[] = [];
  let before = 0;
  for (const [step, count] of Array.from({ length: ROUNDS }, () => SIZES)
    .flat()
    .entries()) {
    const started = realClock.monotonic();
    await client.resource(deployments, NAMESPACE).patch(NAME, { type: 'merge', body: { spec: { replicas: count } } });
    let passed = false;
    while (!passed && realClock.monotonic() - started < LIMIT_MS && !ended()) {
      await sleep(LOOK_EVERY_MS);
      passed = await isSettled(client, count);
    }
    const seconds = Math.round((realClock.monotonic() - started) / 1000);
    const [from, to] = [nodesFor(before), nodesFor(count)];
    process.stdout.write(
      `karpenter: after ${seconds} s, ${count} pods (before: ${before}) run on ${to} nodes (before: ${from})\n`,
    );
    outcomes.push({ name: `step ${step + 1}: ${before} to ${count} pods, ${from} to ${to} nodes`, passed });
    before = count;
  }
  return outcomes;
}

/**
 * Changes the number of pods, and checks that Karpenter creates and removes nodes. @param dir The folder that contains
 * the programs.
 */
export const runKarpenter = (dir: string): Promise<Check[]> => withKarpenter(dir, followLoad);
