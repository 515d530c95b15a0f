import { defined } from '@mcm/kube';
import type { DrainMemory } from './observation.ts';

type Entries<T> = ReadonlyMap<string, T>;

/**
 * Replaces times in the future by `now`. After the clock was set back, the waits of a drain would otherwise last until
 * the clock reaches the earlier time.
 */
export function withoutFuture(memory: DrainMemory, now: Date): DrainMemory {
  if (!timesOf(memory).some((at) => at !== undefined && at > now)) return memory;
  const past = (at: Date | undefined): Date | undefined => (at && at > now ? now : at);
  const dated = <T extends { readonly at: Date }>(entries: Entries<T>): Entries<T> =>
    new Map([...entries].map(([key, entry]) => [key, entry.at > now ? { ...entry, at: now } : entry]));
  const { attempts, moves, emptySince, detachRequested, reportedAt, respondersAt } = memory;
  return defined({
    ...memory,
    attempts: dated(attempts),
    moves: new Map(
      [...moves].map(([uid, move]) => [
        uid,
        defined({ ...move, goneAt: past(move.goneAt), detachedAt: past(move.detachedAt) }),
      ]),
    ),
    emptySince: past(emptySince),
    detachRequested: detachRequested && dated(detachRequested),
    reportedAt: past(reportedAt),
    respondersAt: past(respondersAt),
  });
}

const timesOf = ({
  attempts,
  moves,
  emptySince,
  detachRequested,
  reportedAt,
  respondersAt,
}: DrainMemory): readonly (Date | undefined)[] => [
  ...[...attempts.values()].map(({ at }) => at),
  ...[...moves.values()].flatMap(({ goneAt, detachedAt }) => [goneAt, detachedAt]),
  ...[...(detachRequested?.values() ?? [])].map(({ at }) => at),
  emptySince,
  reportedAt,
  respondersAt,
];
