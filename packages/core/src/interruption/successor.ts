import type { Machine } from '@mcm/api';
import { controllerOf } from '@mcm/kube';
import { millis } from '../values/timestamps.ts';
import { interruptionOf } from './notice.ts';

/**
 * Returns whether the replacement of an interrupted machine is Running. Each Running machine that was created after the
 * interruption counts as the replacement of one interrupted machine. The interrupted machines get their replacements in
 * the order of their deletions.
 * @returns undefined for a machine without a set, because mcm creates no replacement for it
 */
export function successorOf(machine: Machine, group: readonly Machine[]): 'running' | 'awaited' | undefined {
  const owner = controllerOf(machine)?.uid;
  const interruption = interruptionOf(machine);
  if (owner === undefined || interruption === undefined) return undefined;
  const siblings = group.filter((other) => controllerOf(other)?.uid === owner);
  const leaving = siblings.filter(
    (other) => other.metadata.deletionTimestamp !== undefined && interruptionOf(other) !== undefined,
  );
  const order = (one: Machine): string => `${one.metadata.deletionTimestamp ?? ''} ${one.metadata.name}`;
  const before = leaving.filter((other) => order(other) < order(machine)).length;
  const first = Math.min(...[machine, ...leaving].map(({ metadata }) => millis(metadata.deletionTimestamp)));
  const running = siblings.filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      status?.currentStatus?.phase === 'Running' &&
      millis(metadata.creationTimestamp) >= first,
  ).length;
  return running > before ? 'running' : 'awaited';
}
