import { Annotations } from '@mcm/api';
import { isThorough } from '@mcm/kube/testing';
import { expect, onTestFinished, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';
import { InterruptionVerifier } from './verifiers/interruption-verifier.ts';
import { World } from './world/world.ts';

const cases = seedsOf('interruptions', 4);
let verified = 0;

test.each(cases)(
  '$suite $seed: no timely notice of the cloud is missed, and no VM is lost or left over',
  async (one) => {
    const { violations, story, interruptions } = await play('interruptions', one);
    verified += interruptions;
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
);

test.runIf(isThorough)('most of these histories have interruptions of machines', () => {
  expect(verified).toBeGreaterThan(cases.length);
});

test.each([
  ['a freeze', { [Annotations.RolloutFreezes]: '2020-01-01T00:00:00Z/2100-01-01T00:00:00Z holidays' }, false],
  ['a closed window', { [Annotations.RolloutWindows]: '0 0 29 2 * UTC 1m' }, false],
  ['a pause', {}, true],
])(
  '%s holds the rollout, and does not delay the replacement of an interrupted machine',
  async (_, annotations, paused) => {
    const world = await World.start({ interruptions: true, annotations });
    onTestFinished(() => world.close());
    const end = new AbortController();
    const interruptions = InterruptionVerifier.watch(world, end.signal);
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    await world.change({ paused, template: { spec: { class: { name: 'green' } } } });
    await world.clock.advance(600_000);
    const before = await world.machines();
    expect(before.filter(({ spec }) => spec.class.name === 'blue')).toHaveLength(3);
    await interruptions.verifyTimely();
    const after = new Set((await world.machines()).map(({ metadata }) => metadata.uid));
    end.abort(new Error('the test has ended'));
    expect(before.filter(({ metadata }) => !after.has(metadata.uid))).toHaveLength(1);
    expect(world.violations).toEqual([]);
  },
);
