import { Annotations, Labels } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { nodes } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { MemoryStore } from '../../cloud/store/memory-store.ts';
import { type JoinRig, joinRig } from '../../testing/join-rig.ts';

/** Marks a drained node as ready for an update, like the machine controller. */
async function reportToUpdate(rig: JoinRig, name: string): Promise<void> {
  const resource = rig.client.resource(nodes);
  const labels = { [Labels.CandidateForUpdate]: 'true', [Labels.SelectedForUpdate]: 'true' };
  await resource.patch(name, { type: 'merge', body: { metadata: { labels } } });
  const conditions = [{ type: 'InPlaceUpdate', status: 'True', reason: 'ReadyForUpdate' }];
  const body = { status: { conditions } };
  await resource.patch(name, { type: 'strategic', body }, { subresource: 'status' });
}

const result = async (rig: JoinRig, name: string) => (await rig.node(name))?.metadata.labels?.[Labels.UpdateResult];

describe('the agent that updates a machine in place', () => {
  test('the update agent reports nothing before the request to start, and then its success, once', async () => {
    await using rig = await joinRig(startControlPlane);
    await rig.launch({ name: 'n-1' });
    await rig.launch({ name: 'n-2' });
    await rig.clock.advance(5_000);
    const labels = { [Labels.SelectedForUpdate]: 'true' };
    await rig.client.resource(nodes).patch('n-2', { type: 'merge', body: { metadata: { labels } } });
    await reportToUpdate(rig, 'n-1');
    await rig.clock.advance(500);
    expect(await result(rig, 'n-1')).toBeUndefined();
    await rig.clock.advance(1_000);
    expect([await result(rig, 'n-1'), await result(rig, 'n-2')]).toEqual(['successful', undefined]);
    await rig.clock.advance(60_000);
    const writes = rig.kubeletRequests().filter(({ verb, resource }) => verb === 'patch' && resource === 'nodes');
    expect(writes).toHaveLength(1);
  });

  test('the update agent fails with a reason, and succeeds after a new request', async () => {
    await using rig = await joinRig(startControlPlane, { defaults: { update: 'fail', updateFailure: 'disk full' } });
    const { id } = await rig.launch({ name: 'n-1' });
    await rig.clock.advance(5_000);
    await reportToUpdate(rig, 'n-1');
    await rig.clock.advance(10_000);
    expect((await rig.node('n-1'))?.metadata).toMatchObject({
      labels: { [Labels.UpdateResult]: 'failed' },
      annotations: { [Annotations.UpdateFailedReason]: 'disk full' },
    });
    await rig.call('PUT', `/v1/instances/${id}/kubelet`, { update: 'succeed' });
    await rig.clock.advance(10_000);
    expect(await result(rig, 'n-1')).toBe('successful');
    expect((await rig.node('n-1'))?.metadata.annotations?.[Annotations.UpdateFailedReason]).toBeUndefined();
  });

  test('the update agent hangs until another request, and needs the requested time', async () => {
    await using rig = await joinRig(startControlPlane, { defaults: { update: 'hang', updateDelay: 300_000 } });
    const { id } = await rig.launch({ name: 'n-1' });
    await rig.clock.advance(5_000);
    await reportToUpdate(rig, 'n-1');
    await rig.clock.advance(3_600_000);
    expect(await result(rig, 'n-1')).toBeUndefined();
    await rig.call('PUT', `/v1/instances/${id}/kubelet`, { update: 'succeed' });
    await rig.clock.advance(290_000);
    expect(await result(rig, 'n-1')).toBeUndefined();
    await rig.clock.advance(20_000);
    expect(await result(rig, 'n-1')).toBe('successful');
  });

  test('the update agent restarts when its process was stopped', async () => {
    const store = new MemoryStore();
    const first = await joinRig(startControlPlane, { store, defaults: { updateDelay: 30_000 } });
    await first.launch({ name: 'n-1' });
    await first.clock.advance(5_000);
    await reportToUpdate(first, 'n-1');
    await first.clock.advance(10_000);
    await first.cloud.close();
    const { clock, plane } = first;
    await using rig = await joinRig(startControlPlane, { store, clock, plane });
    await clock.advance(30_000);
    expect(await result(rig, 'n-1')).toBe('successful');
    await plane.close();
  });
});
