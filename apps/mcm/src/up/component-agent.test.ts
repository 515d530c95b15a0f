import { startControlPlane } from '@mcm/control-plane';
import { createClient, type Node, nodes, seededRandom, silentLogger, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { runComponentAgent } from './component-agent.ts';

test('only the taint for critical components is removed when the Node is Ready', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const api = client.resource<Node>(nodes);
  const waiting = { key: 'node.gardener.cloud/critical-components-not-ready', effect: 'NoSchedule' };
  const other = { key: 'example.com/mine', effect: 'NoSchedule' };
  await api.create({ metadata: { name: 'n' }, spec: {} });
  await api.patch('n', { type: 'merge', body: { spec: { taints: [waiting, other] } } });
  const stop = new AbortController();
  const running = runComponentAgent(client, { clock, random: seededRandom(1), log: silentLogger, signal: stop.signal });
  await clock.advance(60_000);
  expect((await api.get('n')).spec.taints).toEqual([waiting, other]);
  const body = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  await api.patch('n', { type: 'merge', body }, { subresource: 'status' });
  await clock.advance(1_000);
  expect((await api.get('n')).spec.taints).toEqual([other]);
  stop.abort(new Error('over'));
  await running;
  await plane.close();
});
