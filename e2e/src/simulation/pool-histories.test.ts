import { machines } from '@mcm/api';
import { nodes } from '@mcm/kube';
import { isThorough } from '@mcm/kube/testing';
import { machineConfigPools, NodeAnnotations } from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { playPool, TargetVerifier } from './histories/pool-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';
import { playCase } from './suites/suites.ts';
import { HandoverVerifier } from './verifiers/handover-verifier.ts';
import { ConfigWorld, fileOf } from './world/config-world.ts';
import { NAMESPACE } from './world/world.ts';

/**
 * Seeds 10 and 14: a new machine got the config of a pool that selects its node, and was never replaced. Seed 900014: a
 * bad configuration replaced all machines, and after its correction the new nodes stayed Degraded. Seed 5: more nodes
 * failed after their drain than a later limit allows.
 */
const CASES = [...seedsOf('pools', 2, [10, 14, 5]), ...seedsOf('join', 2, [900_014]), ...seedsOf('config-leases', 2)];

test.each(CASES)(
  '$suite $seed: a pool over machines recovers from any fault, becomes idle, and never updates too many nodes',
  async (one) => {
    const { violations, story } = await playCase(one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
  300_000,
);

test.runIf(isThorough)(
  'a client that sets the target of two nodes at the same time is reported',
  async () => {
    const ref = { kind: 'MachineDeployment' as const, namespace: NAMESPACE, name: 'workers' };
    const config = await ConfigWorld.start({ machineRef: ref, maxUnavailable: 1 });
    const { world } = config;
    const stop = new AbortController();
    try {
      new TargetVerifier(
        world,
        () => 1,
        () => 0,
      ).watch(stop.signal);
      await world.createDeployment(2);
      await config.untilUpdated(2);
      const body = { metadata: { annotations: { [NodeAnnotations.DesiredConfig]: 'rendered-other' } } };
      for (const { metadata } of await config.nodes()) {
        await world.admin.resource(nodes).patch(metadata.name, { type: 'merge', body });
      }
      await world.clock.advance(100);
      expect(world.violations).toEqual([
        expect.stringMatching(/gets configuration rendered-other while 2 nodes apply a configuration/),
      ]);
    } finally {
      stop.abort();
      await config.close();
    }
  },
  300_000,
);

test.runIf(isThorough)(
  'a node that gets another configuration of a paused pool is reported',
  async () => {
    const ref = { kind: 'MachineDeployment' as const, namespace: NAMESPACE, name: 'workers' };
    const config = await ConfigWorld.start({ machineRef: ref, maxUnavailable: 1 });
    const { world } = config;
    const stop = new AbortController();
    try {
      new TargetVerifier(
        world,
        () => 1,
        () => 1_000,
      ).watch(stop.signal);
      await world.createDeployment(1);
      await config.untilUpdated(1);
      const pause = { type: 'merge', body: { spec: { paused: true } } } as const;
      await world.admin.resource(machineConfigPools).patch('workers', pause);
      await world.clock.advance(2_000);
      const other = `rendered-workers-${'0'.repeat(32)}`;
      const body = { metadata: { annotations: { [NodeAnnotations.DesiredConfig]: other } } };
      const [node] = await config.nodes();
      await world.admin.resource(nodes).patch(node?.metadata.name ?? '', { type: 'merge', body });
      await world.clock.advance(100);
      expect(world.violations).toEqual([
        expect.stringMatching(/gets configuration rendered-workers-0+ although its pool is paused/),
      ]);
    } finally {
      stop.abort();
      await config.close();
    }
  },
  300_000,
);

test.runIf(isThorough)(
  'a rollout that deletes a machine before the new one has applied its configuration is reported',
  async () => {
    const ref = { kind: 'MachineDeployment' as const, namespace: NAMESPACE, name: 'workers' };
    const config = await ConfigWorld.start(
      { machineRef: ref, maxUnavailable: 1, updateStrategy: 'Replace' },
      { kubelets: { configDelay: 600_000 } },
    );
    const { world } = config;
    const stop = new AbortController();
    try {
      new HandoverVerifier(world, world.lagMs).watch(stop.signal);
      await world.createDeployment(2);
      await config.untilUpdated(2);
      const [old] = await world.machines();
      await config.change({ files: [fileOf('/etc/a', 'two')] });
      await world.until(async () => (await world.machines()).length === 3);
      await world.clock.advance(60_000);
      expect(world.violations).toEqual([]);
      await world.admin.resource(machines, NAMESPACE).delete(old?.metadata.name ?? '');
      await world.clock.advance(100);
      expect(world.violations).toEqual([
        expect.stringMatching(/although only \S+ are ready and the deployment needs 2/),
      ]);
    } finally {
      stop.abort();
      await config.close();
    }
  },
  300_000,
);

test.runIf(isThorough)(
  'a write of a frozen machine-config-controller without a fence, while another one leads, is reported',
  async () => {
    const { violations } = await playPool('config-leases', { seed: 2, profile: 'lan' }, { unfenced: true });
    expect(violations).toContainEqual(
      expect.stringMatching(/^machine-config-controller-\d+ sends PATCH \S+ although \S+ is the leader$/),
    );
  },
  300_000,
);
