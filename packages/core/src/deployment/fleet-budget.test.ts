import { Annotations, MachineDeploymentConditions } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import type { RolloutNeeds, RolloutPermit } from '@mcm/kube';
import { expect, test } from 'vitest';
import { findCondition } from '../objects/conditions.ts';
import { rolling } from './testing/transcript.ts';
import { World } from './testing/world.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const BECAUSE = 'waiting: other clusters use all claims of the rollout budget (ConfigMap fleet/rollouts)';

class FakePermit implements RolloutPermit {
  readonly reports: RolloutNeeds[] = [];
  readonly forgotten: string[] = [];
  asked = false;
  #open = false;
  #rollout = '';
  #listener: (rollouts: readonly string[]) => void = () => undefined;

  hold() {
    return this.#open ? undefined : { because: BECAUSE, asked: this.asked };
  }

  report(rollout: string, needs: RolloutNeeds): void {
    this.#rollout = rollout;
    this.reports.push(needs);
  }

  forget(rollout: string): void {
    this.forgotten.push(rollout);
  }

  onChange(listener: (rollouts: readonly string[]) => void): void {
    this.#listener = listener;
  }

  open(): void {
    this.#open = true;
    this.#listener([this.#rollout]);
  }

  get last(): RolloutNeeds | undefined {
    return this.reports.at(-1);
  }
}

async function start(strategy: Parameters<World['deploy']>[1] = rolling(1, 0)) {
  const rollouts = new FakePermit();
  const given = { birthMs: () => 2 * MINUTE * 1000, deathMs: () => 1_000, rollouts };
  const world = await World.start((options) => startControlPlane(options), given);
  await world.deploy(3, strategy);
  await world.until(() => world.complete(), HOUR);
  return { world, rollouts };
}

const waiting = async (world: World) =>
  findCondition((await world.deployment()).status?.conditions ?? [], MachineDeploymentConditions.RolloutWaiting);

test('a new deployment needs no claim, and a rollout waits for the claim', async () => {
  const { world, rollouts } = await start();
  await using _ = world;
  expect(rollouts.last).toEqual({ wants: false, settled: true, rollout: 'none' });
  await world.changeClass('large');
  await world.pass(HOUR);
  expect(await world.sizes()).toBe('small:3');
  expect(await waiting(world)).toMatchObject({
    reason: 'RolloutBudget',
    message: `The rollout waits: ${BECAUSE.replace('waiting: ', '')}.`,
  });
  expect(rollouts.last).toEqual({ wants: true, settled: true, rollout: 'rolling' });
  rollouts.open();
  await world.until(() => world.complete(), HOUR);
  await world.pass(MINUTE);
  expect(await world.sizes()).toBe('large:3 small:0');
  expect(await waiting(world)).toBeUndefined();
  expect(rollouts.last).toEqual({ wants: false, settled: true, rollout: 'none' });
});

test('a failed machine is replaced without a claim', async () => {
  const { world } = await start();
  await using _ = world;
  await world.changeClass('large');
  await world.pass(MINUTE);
  const [failed] = world.truth.store.list();
  await world.setPhase(failed?.metadata.name ?? '', 'Failed');
  await world.pass(10 * MINUTE);
  expect(world.truth.store.list().map(({ metadata }) => metadata.uid)).not.toContain(failed?.metadata.uid);
  expect(world.available()).toBe(3);
});

test('the status does not report the short time until the budget answers', async () => {
  const { world, rollouts } = await start();
  await using _ = world;
  rollouts.asked = true;
  await world.changeClass('large');
  await world.pass(MINUTE);
  expect(await world.sizes()).toBe('small:3');
  expect(await waiting(world)).toBeUndefined();
  rollouts.open();
  await world.until(() => world.complete(), HOUR);
  expect(await world.sizes()).toBe('large:3 small:0');
});

test('a rollout outside of its window needs no claim, and a paused rollout needs it until its disruption is complete', async () => {
  const { world, rollouts } = await start(rolling(0, 1));
  await using _ = world;
  rollouts.open();
  await world.changeClass('large');
  await world.pass(10);
  expect(rollouts.last).toMatchObject({ wants: true, settled: false });
  await world.change({ spec: { paused: true } });
  await world.pass(10);
  expect(rollouts.last).toEqual({ wants: false, settled: false, rollout: 'rolling' });
  await world.pass(10 * MINUTE);
  expect(rollouts.last).toEqual({ wants: false, settled: true, rollout: 'rolling' });
  const annotations = { [Annotations.RolloutWindows]: '0 14 * * * UTC 10m' };
  await world.change({ metadata: { annotations }, spec: { paused: false } });
  await world.pass(10);
  expect(rollouts.last).toEqual({ wants: false, settled: true, rollout: 'rolling' });
});
