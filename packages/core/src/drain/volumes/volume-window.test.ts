import { expect, test } from 'vitest';
import { NO_DRAIN_MEMORY, type VolumeMove } from '../model/observation.ts';
import { later, look, MINUTE, pod } from '../testing.ts';
import { windowSize } from './volume-window.ts';

const after = (...took: (number | undefined)[]) => {
  const moves = took.map((ms, i): [string, VolumeMove] => {
    const goneAt = later(i * 1_000);
    const move = { pod: pod(`p${i}`), volumes: [`pv-${i}`], returns: true, goneAt };
    return [`p${i}`, ms === undefined ? move : { ...move, detachedAt: later(ms, goneAt) }];
  });
  return look([], { volumeWindow: 4, memory: { ...NO_DRAIN_MEMORY, moves: new Map(moves) } });
};

test.each<[title: string, took: (number | undefined)[], size: number]>([
  ['begins with one', [], 1],
  ['grows while volumes are detached fast', [2_000, 2_000], 3],
  ['never exceeds the flag', [1, 1, 1, 1, 1, 1, 1], 4],
  ['stays if detaching is neither fast nor slow', [2_000, 45_000], 2],
  ['counts a detach of half a minute as fast', [30_000], 2],
  ['does not count a slower one', [30_001], 1],
  ['halves when a detach takes half of the timeout', [1, 1, 1, 60_000], 2],
  ['halves and rounds down', [1, 1, 60_000], 1],
  ['changes in the order of the detaches, not of the evictions', [70_000, 2_000], 1],
  ['halves when a detach is slow', [1, 1, 1, 70_000], 2],
  ['halves for a volume that is not detached yet', [1, 1, 1, undefined], 2],
  ['is never below one, so a drain is as fast as a serial one', [70_000, 70_000, undefined], 1],
])('the window %s', (_title, took, size) => {
  expect(windowSize(after(...took), later(5 * MINUTE))).toBe(size);
});
