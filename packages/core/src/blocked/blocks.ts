import { type Block, formatTime } from '@mcm/api';
import { defined } from '@mcm/kube';
import { compareText } from '../values/integers.ts';
import { jsonEquals } from '../values/merge-diff.ts';

/** The reason why an object waits. If `since` is absent, the block starts when mcm writes the status. */
export type Blocking = Omit<Block, 'since'> & { readonly since?: string };

export const MOST_BLOCKS = 10;

const identity = ({ cause, object }: Blocking): string =>
  JSON.stringify([cause, object?.kind, object?.namespace, object?.name]);

/**
 * Returns the new value of `status.blockedBy`. Several reasons can share a cause and an object. The block then keeps
 * its stored text as long as one of the reasons has this text. The status therefore changes rarely.
 * @returns the stored list if nothing changed
 */
export function blocksOf(stored: readonly Block[], blocking: readonly Blocking[], now: Date): readonly Block[] {
  const known = new Map(stored.map((block) => [identity(block), block]));
  const blocks = [...Map.groupBy(blocking, identity)]
    .sort(([a], [b]) => compareText(a, b))
    .slice(0, MOST_BLOCKS)
    .flatMap(([id, alike]) => entryOf(known.get(id), alike, now) ?? []);
  return jsonEquals(stored, blocks) ? stored : blocks;
}

function entryOf(known: Block | undefined, alike: readonly Blocking[], now: Date): Block | undefined {
  const [first] = alike.toSorted((a, b) => compareText(a.reason, b.reason));
  if (first === undefined) return undefined;
  const reason = known && alike.some((one) => one.reason === known.reason) ? known.reason : first.reason;
  const [since = formatTime(now)] = alike.flatMap((one) => one.since ?? []).sort();
  return defined({ cause: first.cause, object: first.object, reason, since: known?.since ?? since });
}

/**
 * The CRDs of the original do not contain `status.blockedBy`. With these CRDs, the API server removes the field, so mcm
 * stops writing the field.
 */
export class BlockedByField {
  #dropped = false;

  get stored(): boolean {
    return !this.#dropped;
  }

  wrote(written: readonly Block[] | undefined, answer: readonly Block[] | undefined): void {
    if (written?.length && !answer?.length) this.#dropped = true;
  }
}
