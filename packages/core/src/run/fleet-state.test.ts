import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { fleetState } from './fleet-state.ts';

test('all clusters of a fleet share one state, and a single cluster has its own state', () => {
  const clock = new VirtualClock();
  const stateOf = fleetState();
  const [a, b] = [stateOf({ cluster: 'a', clock }), stateOf({ cluster: 'b', clock })];
  expect([a.rates, a.offerings].every((each) => each !== undefined)).toBe(true);
  expect(b).toBe(a);
  expect(stateOf({ clock })).toEqual({});
});
