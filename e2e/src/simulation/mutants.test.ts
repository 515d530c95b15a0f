import { Annotations, Labels, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { ignoreNotFound, type KubeClient, nodes, type Transport } from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { playScaler } from './histories/scaler-history.ts';
import { HoldVerifier } from './verifiers/hold-verifier.ts';
import { ScalerVerifier } from './verifiers/scaler-verifier.ts';
import { pauseHold } from './world/holds.ts';
import { NAMESPACE, type ProcessName, World, type WorldOptions } from './world/world.ts';

/** Tests the verifiers with defective managers. */

const MINUTE = 60_000;

type Defect = (client: KubeClient) => Promise<void>;

const failsTooEarly =
  (phase: 'Unknown' | 'Pending'): Defect =>
  async (client) => {
    const resource = client.resource<Machine>(machines, NAMESPACE);
    const lost = (await resource.list()).items.filter(
      ({ metadata, status }) => status?.currentStatus?.phase === phase && !metadata.deletionTimestamp,
    );
    const type = phase === 'Pending' ? 'Create' : 'HealthCheck';
    const body = { status: { currentStatus: { phase: 'Failed' }, lastOperation: { type, state: 'Failed' } } };
    await Promise.all(
      lost.map(({ metadata }) => resource.patch(metadata.name, { type: 'merge', body }, { subresource: 'status' })),
    );
    await Promise.all(lost.map(({ metadata }) => resource.delete(metadata.name)));
  };

const selectsAll: Defect = async (client) => {
  const resource = client.resource(nodes);
  const candidates = (await resource.list()).items.filter(
    ({ metadata: { labels = {} } }) => labels[Labels.CandidateForUpdate] && !labels[Labels.SelectedForUpdate],
  );
  for (const { metadata } of candidates) {
    const body = { metadata: { labels: { [Labels.SelectedForUpdate]: 'true' } } };
    await resource.patch(metadata.name, { type: 'merge', body });
  }
};

async function verified(
  options: WorldOptions,
  defect: Defect,
  story: (world: World) => Promise<void>,
): Promise<readonly [healthy: readonly string[], broken: readonly string[]]> {
  const play = async (broken: boolean) => {
    const world = await World.start({ machine: { healthTimeout: '1s', creationTimeout: '5m' }, ...options });
    const again = (): void =>
      void world.clock.setTimeout(
        () =>
          void defect(world.admin)
            .catch((error: unknown) => world.reporter.violate(String(error)))
            .then(again),
        1_000,
      );
    if (broken) again();
    await story(world);
    for (let minute = 0; minute < 2 && world.violations.length === 0; minute += 1) await world.clock.advance(MINUTE);
    const seen = [...world.violations];
    await world.close();
    return seen;
  };
  return [await play(false), await play(true)];
}

async function settled(world: World, replicas: number): Promise<readonly string[]> {
  await world.createDeployment(replicas);
  await world.untilSettled(replicas, 'blue');
  return (await world.machines()).map(({ metadata }) => metadata.name);
}

function silence(world: World, ...names: readonly string[]): void {
  for (const { id, name } of world.cloud.instances.list()) {
    if (names.includes(name)) world.cloud.kubelets.order(id, { silent: true });
  }
}

const roll = (world: World) => world.change({ template: { spec: { class: { name: 'green' } } } });

test('more replacements of failed machines than the limit are reported', async () => {
  const [healthy, broken] = await verified({}, failsTooEarly('Unknown'), async (world) => {
    silence(world, ...(await settled(world, 4)).slice(0, 2));
  });
  expect([healthy, broken[0]]).toEqual([[], expect.stringMatching(/^mcm replaced .* and .* at the same time$/)]);
});

test('machines that never joined count towards the budget', async () => {
  const [healthy, broken] = await verified({ kubelets: { join: 'never' } }, failsTooEarly('Pending'), async (world) => {
    await world.createDeployment(3);
    await world.clock.advance(2_000);
  });
  expect([healthy, broken[0]]).toEqual([[], expect.stringMatching(/^mcm replaced .* and .* at the same time$/)]);
});

test('a machine that is deleted in addition to those of a rollout is reported', async () => {
  const options = { maxSurge: 0, maxUnavailable: 1, kubelets: { joinDelay: 2 * MINUTE } };
  const [healthy, broken] = await verified(options, failsTooEarly('Unknown'), async (world) => {
    await settled(world, 3);
    await roll(world);
    await world.until(async () => (await world.machines()).some(({ spec }) => spec.class.name === 'green'));
    const [other = ''] = (await world.machines())
      .filter(({ metadata, spec }) => spec.class.name === 'blue' && !metadata.deletionTimestamp)
      .map(({ metadata }) => metadata.name);
    silence(world, other);
  });
  expect([healthy, broken[0]]).toEqual([
    [],
    expect.stringContaining('while the rollout made 1 machine unavailable, more than the limit of 1'),
  ]);
});

test.each(['Auto', 'Manual'] as const)(
  'a machine that is deleted during the in-place update of another is reported: %s',
  async (inPlace) => {
    const options = { inPlace, maxSurge: 0, maxUnavailable: 1, kubelets: { updateDelay: 5 * MINUTE } };
    const [healthy, broken] = await verified(options, failsTooEarly('Unknown'), async (world) => {
      const [first = ''] = await settled(world, 3);
      await roll(world);
      if (inPlace === 'Manual') {
        const body = { metadata: { labels: { [Labels.SelectedForUpdate]: 'true' } } };
        await world.until(async () => (await candidates(world)).length === 3);
        await world.admin.resource(nodes).patch(first, { type: 'merge', body });
      }
      await world.until(async () => (await updating(world)).length > 0);
      await world.clock.advance(MINUTE);
      const busy = await updating(world);
      const idle = (await world.machines()).map(({ metadata }) => metadata.name).filter((name) => !busy.includes(name));
      silence(world, idle[0] ?? '');
    });
    expect([healthy, broken[0]]).toEqual([
      [],
      expect.stringContaining(
        'while the rollout made 1 machine unavailable (1 by in-place updates), more than the limit of 1',
      ),
    ]);
  },
);

const candidates = async (world: World): Promise<readonly string[]> =>
  (await world.admin.resource(nodes).list()).items
    .filter(({ metadata }) => metadata.labels?.[Labels.CandidateForUpdate])
    .map(({ metadata }) => metadata.name);

const updating = async (world: World): Promise<readonly string[]> =>
  (await world.machines())
    .filter(({ status }) => status?.currentStatus?.phase === 'InPlaceUpdating')
    .map(({ metadata }) => metadata.name);

test('more nodes selected for an update than may be unavailable are reported', async () => {
  const options = { inPlace: 'Auto', maxSurge: 0, maxUnavailable: 1 } as const;
  const [healthy, broken] = await verified(options, selectsAll, async (world) => {
    await settled(world, 3);
    await roll(world);
  });
  expect([healthy, broken[0]]).toEqual([
    [],
    expect.stringMatching(/ was selected while .* are available .*, but the deployment needs 2/),
  ]);
});

type Rewrite = (text: string) => string;

async function* rewritten(body: AsyncIterable<Uint8Array>, rewrite: Rewrite): AsyncIterable<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  for await (const piece of body) yield encoder.encode(rewrite(decoder.decode(piece, { stream: true })));
}

/** Returns a manager that reads falsified responses of the API server. */
const reads =
  (rewrite: Rewrite) =>
  (name: ProcessName, transport: Transport): Transport => {
    if (name !== 'manager') return transport;
    return async (request) => {
      const answer = await transport(request);
      const { status, headers, body } = answer;
      return {
        status,
        headers,
        body: body && rewritten(body, rewrite),
        text: async () => rewrite(await answer.text()),
      };
    };
  };

const ignoresPauses = reads((text) => text.replaceAll('"paused":true', '"paused":false'));

const ignoresWindows = reads((text) => text.replaceAll(Annotations.RolloutWindows, 'unknown'));

const ignoresPostponement = reads((text) => text.replaceAll(Labels.RolloutPostpone, 'unknown'));

const ignoresNames = reads((text) => text.replaceAll(Annotations.TriggerDeletion, 'unknown'));

/** A defect: the manager deletes the named machines before a user reduces the number of replicas. */
const hastens: Defect = async (client) => {
  const { items } = await client.resource<MachineDeployment>(machineDeployments, NAMESPACE).list();
  const lists = items.map(({ metadata }) => metadata.annotations?.[Annotations.TriggerDeletion] ?? '');
  const names = lists.flatMap((list) => list.split(',').map((entry) => entry.split('~')[0] ?? ''));
  const resource = client.resource<Machine>(machines, NAMESPACE);
  for (const name of names) if (name !== '') await ignoreNotFound(resource.delete(name));
};

test('the deletion of a machine that the autoscaler did not name is reported', async () => {
  const { violations } = await playScaler({ seed: 4, wrap: ignoresNames });
  expect(violations).toContainEqual(
    expect.stringMatching(/^mcm deleted .* although the autoscaler did not mark this machine$/),
  );
});

test('a replacement of a named machine is reported', async () => {
  const end = new AbortController();
  const [healthy, broken] = await verified({}, hastens, async (world) => {
    const verifier = ScalerVerifier.watch(world, 3, end.signal);
    const [first = ''] = await settled(world, 3);
    verifier.names([first]);
    await world.annotate({ [Annotations.TriggerDeletion]: first });
  });
  end.abort(new Error('closed'));
  expect(healthy).toEqual([]);
  expect(broken).toContainEqual(
    expect.stringMatching(/ is unnecessary: mcm created 4 machines, but the autoscaler requested 3$/),
  );
});

test.each(sampled([3, 4], 2))(
  'a rollout that continues although it is paused is reported in a random history: %i',
  async (seed) => {
    const { violations } = await play('pauses', { seed, wrap: ignoresPauses });
    expect(violations).toContainEqual(
      expect.stringMatching(/^mcm scaled MachineSet .* from . to . although the rollout is paused$/),
    );
  },
);

test.each([
  [
    'outside of its windows',
    ignoresWindows,
    3,
    /^mcm scaled MachineSet .* from . to . although the rollout is outside of its windows$/,
  ],
  ['on a node that postpones', ignoresPostponement, 1, /^mcm deleted .* although its node postpones the rollout$/],
])('a rollout that acts %s is reported in a random history', async (_title, wrap, seed, violation) => {
  const { violations } = await play('windows', { seed, wrap });
  expect(violations).toContainEqual(expect.stringMatching(violation));
});

/** A defect: the manager replaces machines during a pause, as in a rollout. */
const rollsOn =
  (does: (client: KubeClient, all: readonly Machine[]) => Promise<unknown>): Defect =>
  async (client) => {
    const deployments = await client.resource<MachineDeployment>(machineDeployments, NAMESPACE).list();
    if (!deployments.items.some(({ spec }) => spec.paused)) return;
    const { items } = await client.resource<Machine>(machines, NAMESPACE).list();
    await does(
      client,
      items.filter(({ metadata }) => !metadata.deletionTimestamp),
    );
  };

const takesOld = rollsOn(async (client, all) => {
  const name = all.find(({ spec }) => spec.class.name === 'blue')?.metadata.name;
  if (name !== undefined) await client.resource<Machine>(machines, NAMESPACE).delete(name);
});

let made = 0;
const makesNew = rollsOn(async (client, all) => {
  const pattern = all.find(({ spec }) => spec.class.name === 'green');
  if (!pattern) return;
  const { labels = {}, ownerReferences = [] } = pattern.metadata;
  const metadata = { name: `one-more-${made++}`, namespace: NAMESPACE, labels, ownerReferences };
  await client.resource<Machine>(machines, NAMESPACE).create({ metadata, spec: pattern.spec });
});

test.each([
  ['deleted', takesOld, /^workers-.* was deleted in .* although the rollout is paused$/],
  ['made', makesNew, /^one-more-[0-9]+ was created in .* although the rollout is paused$/],
] as const)('a machine that is %s although the rollout is paused is reported', async (_, defect, reported) => {
  const end = new AbortController();
  const [healthy, broken] = await verified({ kubelets: { joinDelay: 10_000 } }, defect, async (world) => {
    const verifier = HoldVerifier.watch(world, pauseHold(), end.signal);
    await settled(world, 3);
    await roll(world);
    await world.until(async () => (await world.machines()).some(({ spec }) => spec.class.name === 'green'));
    await world.change({ paused: true });
    await world.until(async () => verifier.verified > 0);
    await world.clock.advance(2_000);
  });
  end.abort(new Error('closed'));
  expect(healthy).toEqual([]);
  expect(broken).toContainEqual(expect.stringMatching(reported));
});
