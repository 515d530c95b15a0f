import { crds, type Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { previewDrain } from '@mcm/core';
import {
  createClient,
  KubeError,
  nodes,
  podDisruptionBudgets,
  pods,
  seededRandom,
  silentLogger,
  VirtualClock,
} from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, onTestFinished, test } from 'vitest';
import { drainLines } from './reasons/drain-lines.ts';

test('the preview of two pods under one budget matches the answers of the API server to their evictions', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  onTestFinished(() => plane.close());
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  await client.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
  const labels = { app: 'web' };
  const pod = (name: string) =>
    client.resource(pods, 'default').create({
      metadata: {
        name,
        labels,
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u', controller: true }],
      },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    } as never);
  const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  for (const name of ['web-a', 'web-b']) {
    await pod(name);
    await client
      .resource(pods, 'default')
      .patch(name, { type: 'merge', body: { status: ready } }, { subresource: 'status' });
  }
  const budget = await client.resource(podDisruptionBudgets, 'default').create({
    metadata: { name: 'web' },
    spec: { minAvailable: 1, selector: { matchLabels: labels } },
  });
  const status = {
    observedGeneration: budget.metadata.generation,
    disruptionsAllowed: 1,
    currentHealthy: 2,
    desiredHealthy: 1,
    expectedPods: 2,
  };
  await client
    .resource(podDisruptionBudgets, 'default')
    .patch('web', { type: 'merge', body: { status } }, { subresource: 'status' });

  const machine = partial<Machine>({ metadata: { name: 'm', labels: { node: 'n' } }, spec: { class: {} } });
  const { signal } = new AbortController();
  const runtime = { clock, random: seededRandom(1), log: silentLogger };
  const preview = await previewDrain({ target: client, machine, runtime, signal });
  const fates = preview?.pods.map(({ pod: name, fate }) => [name.split('/')[1], fate]) ?? [];
  expect(fates.map(([, fate]) => fate)).toEqual(['evict', 'turn']);
  const lines = preview ? drainLines(preview, clock.now()).join('\n') : '';
  expect(lines).toMatch(
    /the pod waits until mcm has evicted earlier pods {2}pod disruption budget default\/web allows 1 disruption at a time, budget default\/web/,
  );

  const answers: (readonly [string | undefined, string])[] = [];
  for (const [name] of fates) {
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: name ?? '' } };
    const evicted = client.resource(pods, 'default').createSubresource(name ?? '', 'eviction', body);
    answers.push([
      name,
      await evicted.then(
        () => 'evict',
        (error: unknown) => (error instanceof KubeError && error.code === 429 ? 'turn' : String(error)),
      ),
    ]);
  }
  expect(answers).toEqual(fates);
});
