import { expect, test } from 'vitest';
import { NO_DRAIN_MEMORY } from '../../drain/model/observation.ts';
import { cordoned, see } from '../test-dying.ts';
import { machine, NOON } from '../testing.ts';
import { missingNodeUntil, waitForMissingNode } from './missing-node.ts';
import { type Action, act, wait } from './plan.ts';

const later = (ms: number): Date => new Date(NOON.getTime() + ms);

test.each<[afterMs: number, leftMs: number | undefined]>([
  [0, 5_000],
  [4_999, 1],
  [5_000, undefined],
  [-1, undefined],
])('%d ms after a request for a missing Node, the next request waits %s ms', (afterMs, leftMs) => {
  const memory = { drain: NO_DRAIN_MEMORY, missingNode: { uid: 'u', at: NOON } };
  const until = leftMs === undefined ? undefined : later(afterMs + leftMs);
  expect(missingNodeUntil(memory, later(afterMs))).toEqual(until && { uid: 'u', until });
  expect(missingNodeUntil({ drain: NO_DRAIN_MEMORY }, NOON)).toBeUndefined();
});

test('only actions on the missing Node wait', () => {
  const node = cordoned();
  const missing = { uid: node.metadata.uid, until: later(1) };
  const waits = wait('the API server does not have the Node', later(1));
  const plan = (...actions: Action[]) => act('because', ...actions);
  const cordon = plan({ do: 'cordon', reason: 'ScaleDown', tolerant: false, release: false });
  const see1 = see(machine(), { node, missingNode: missing });
  expect(waitForMissingNode(cordon, see1)).toEqual(waits);
  expect(waitForMissingNode(plan({ do: 'markOutOfService' }), see1)).toEqual(waits);
  const conflict = see(machine(), { node: undefined, conflictingNode: node, missingNode: missing });
  expect(waitForMissingNode(plan({ do: 'deleteStaleNode' }), conflict)).toEqual(waits);
  const remove = plan({ do: 'call', call: 'delete' });
  expect(waitForMissingNode(remove, see1)).toBe(remove);
  const other = see(machine(), { node, missingNode: { ...missing, uid: 'another' } });
  expect(waitForMissingNode(cordon, other)).toBe(cordon);
  expect(waitForMissingNode(cordon, see(machine(), { node }))).toBe(cordon);
});
