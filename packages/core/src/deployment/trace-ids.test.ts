import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { World, type WorldOptions } from './testing/world.ts';

const HOUR = 3_600;

async function stepsOf(options: WorldOptions): Promise<readonly Readonly<Record<string, unknown>>[]> {
  await using world = await World.start((given) => startControlPlane(given), options);
  await world.deploy(1);
  await world.until(() => world.complete(), HOUR);
  return world.log.lines.filter(({ message }) => message === 'Deployment step').map(({ fields }) => fields);
}

test('with tracing, the messages about a rollout have the trace of the deployment', async () => {
  const traces = (await stepsOf({ traceIdOf: ({ kind }) => `trace-of-${kind}` })).map(({ trace_id }) => trace_id);
  expect(new Set(traces)).toEqual(new Set(['trace-of-MachineDeployment']));
});

test('without tracing, the messages about a rollout have no trace', async () => {
  const traces = (await stepsOf({})).map(({ trace_id }) => trace_id);
  expect(new Set(traces)).toEqual(new Set([undefined]));
});
