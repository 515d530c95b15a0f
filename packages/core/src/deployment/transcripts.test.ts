import { fileURLToPath } from 'node:url';
import { Labels, type MachineDeployment } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { rounds, strategy } from './testing/in-place-agents.ts';
import { rolling, Transcript } from './testing/transcript.ts';
import { World, type WorldOptions } from './testing/world.ts';

interface Story {
  readonly spec: Partial<MachineDeployment['spec']>;
  readonly options?: WorldOptions;
  readonly tell: (world: World, transcript: Transcript) => Promise<unknown>;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;

const roll = async (world: World, transcript: Transcript, name = 'large'): Promise<void> => {
  transcript.user(`changes the class to ${name}`);
  await world.changeClass(name);
};
const complete = (world: World): Promise<number> => world.until(() => world.complete(), HOUR);
const rolls = async (world: World, transcript: Transcript): Promise<void> => {
  await roll(world, transcript);
  await complete(world);
};

const failing: WorldOptions = {
  birthMs: ({ spec }) => (spec.class.name === 'large' ? undefined : 1_000),
};

const STORIES: Readonly<Record<string, Story>> = {
  surge: { spec: rolling(1, 0), tell: rolls },
  unavailable: { spec: rolling(0, 1), tell: rolls },
  recreate: { spec: { strategy: { type: 'Recreate' } }, tell: rolls },
  'in-place-auto': {
    spec: strategy('Auto', 0, 1),
    tell: async (world, transcript) => {
      await roll(world, transcript);
      await rounds(world, 20);
    },
  },
  'in-place-manual': {
    spec: strategy('Manual', 0, 1),
    tell: async (world, transcript) => {
      await roll(world, transcript);
      await rounds(world, 3);
      for (const { metadata } of await world.nodes()) {
        transcript.user(`selects ${metadata.name}`);
        const body = { metadata: { labels: { [Labels.SelectedForUpdate]: 'true' } } };
        await world.keeper.resource(nodes).patch(metadata.name, { type: 'merge', body });
        await rounds(world, 5);
      }
    },
  },
  'rollback-midway': {
    spec: rolling(1, 0),
    tell: async (world, transcript) => {
      await roll(world, transcript);
      await world.until(async () => (await world.sizes()) === 'large:2 small:2', MINUTE);
      await roll(world, transcript, 'small');
      await complete(world);
    },
  },
  'scaling-midway': {
    spec: rolling(1, 0),
    tell: async (world, transcript) => {
      await roll(world, transcript);
      await world.until(async () => (await world.sizes()) === 'large:2 small:2', MINUTE);
      transcript.user('scales to 6');
      await world.change({ spec: { replicas: 6 } });
      await complete(world);
    },
  },
  'failing-machines': {
    spec: rolling(1, 0),
    options: failing,
    tell: async (world, transcript) => {
      await roll(world, transcript);
      for (let count = 0; count < 2; count++) {
        await world.pass(MINUTE);
        const broken = (await world.machines()).filter(({ spec }) => spec.class.name === 'large');
        for (const { metadata } of broken) {
          transcript.user(`sees that ${metadata.name} failed`);
          await world.setPhase(metadata.name, 'Failed');
        }
        await world.pass(MINUTE);
      }
      await roll(world, transcript, 'huge');
      await complete(world);
    },
  },
  'blocked-drain': {
    spec: rolling(1, 0),
    options: { birthMs: () => 1_000, deathMs: (_, index) => (index === 0 ? 30 * MINUTE * 1_000 : 1_000) },
    tell: rolls,
  },
};

test.each(Object.entries(STORIES))(
  'the decisions of the rollout %s are as in its transcript',
  async (name, { spec, options, tell }) => {
    let monotonic = (): number => 0;
    const transcript = new Transcript(() => monotonic());
    await using world = await World.start(startControlPlane, {
      birthMs: () => 1_000,
      deathMs: () => 1_000,
      ...options,
      decide: transcript.decide,
      wrapLog: (log) => transcript.logger(log),
    });
    monotonic = () => world.clock.monotonic();
    world.truth.onChange(({ type, object }) => {
      if (type === 'added') transcript.machine(object.metadata.name, object.spec.class.name ?? '');
    });
    transcript.user('creates a deployment with 3 replicas of the class small');
    await world.deploy(3, spec);
    await complete(world);
    await world.pass(MINUTE);
    await tell(world, transcript);
    await expect(transcript.print()).toMatchFileSnapshot(
      fileURLToPath(new URL(`testdata/${name}.txt`, import.meta.url)),
    );
  },
);
