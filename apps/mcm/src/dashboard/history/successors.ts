import type { MachineRow } from '@mcm/dashboard';

/** The time within which a new machine can be the successor of a deleted machine. */
const WITHIN_MS = 1_800_000;
/** The maximum number of machines of a deployment without a known successor or predecessor. */
const MOST_WAITING = 1_000;

interface Waiting {
  readonly key: string;
  readonly at: number;
}

/**
 * Guesses the successor of each deleted machine from the order of events in its deployment. The API does not contain
 * the successor of a machine, and a rollout can create the successor before the deletion.
 */
export class Successors {
  readonly #newcomers = new Map<string, Waiting[]>();
  readonly #leavers = new Map<string, Waiting[]>();

  /** Called when a machine was created. The result is the machine that the created machine replaces. */
  created(row: MachineRow, now: number): string | undefined {
    return this.#match(row, now, this.#leavers, this.#newcomers);
  }

  /** Called when the deletion of a machine starts. The result is the successor, if the successor already exists. */
  leaves(row: MachineRow, now: number): string | undefined {
    return this.#match(row, now, this.#newcomers, this.#leavers);
  }

  #match(
    { key, ns, deployment }: MachineRow,
    now: number,
    from: Map<string, Waiting[]>,
    own: Map<string, Waiting[]>,
  ): string | undefined {
    if (deployment === '') return undefined;
    const group = `${ns}/${deployment}`;
    const waiting = (from.get(group) ?? []).filter(({ at }) => now - at < WITHIN_MS);
    const other = waiting.find((each) => each.key !== key);
    // A machine that is being deleted can no longer be a successor.
    const left = waiting.filter((each) => each !== other && each.key !== key);
    if (left.length === 0) from.delete(group);
    else from.set(group, left);
    if (other !== undefined) return other.key;
    own.set(group, [...(own.get(group) ?? []), { key, at: now }].slice(-MOST_WAITING));
    return undefined;
  }
}
