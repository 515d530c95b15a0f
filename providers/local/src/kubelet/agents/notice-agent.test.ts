import { Annotations } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { joinRig } from '../../testing/join-rig.ts';

test('the agent of a machine writes its interruption to the Node, and removes it', async () => {
  await using rig = await joinRig(startControlPlane);
  const { id } = await rig.launch({ name: 'n-1' });
  await rig.clock.advance(5_000);
  const annotation = async () => (await rig.node('n-1'))?.metadata.annotations?.[Annotations.Interruption];
  await rig.call('PUT', `/v1/instances/${id}/kubelet`, { notice: '{"kind":"Terminate"}' });
  await rig.clock.advance(100);
  expect(await annotation()).toBe('{"kind":"Terminate"}');
  await rig.call('PUT', `/v1/instances/${id}/kubelet`, { notice: '' });
  await rig.clock.advance(100);
  expect(await annotation()).toBeUndefined();
});
