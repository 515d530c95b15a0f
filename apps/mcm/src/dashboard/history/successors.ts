import type { MachineRow } from '@mcm/dashboard';

const WITHIN_MS = 1_800_000;
const MOST_WAITING = 1_000;

interface Waiting {
  readonly key: string;
  readonly at: number;
}

/**
 * Guesses the successor of each deleted machine from the order of events in its deployment. The API does not store the
 * successor of a machine. In a rollout, the successor may be created before the deletion.
 */
export class Successors {
  readonly #newcomers = new Map<string, Waiting[]>();
  readonly #leavers = new Map<string, Waiting[]>();

  /** Must be called after a machine was created. */
  created(row: MachineRow, now: number): string | undefined {
    return this.#match(row, now, this.#leavers, this.#newcomers);
  }

  /** Must be called when the deletion of a machine starts. */
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
    // A machine in deletion can no longer be the successor of another machine.
    const left = waiting.filter((each) => each !== other && each.key !== key);
    if (left.length === 0) from.delete(group);
    else from.set(group, left);
    if (other !== undefined) return other.key;
    own.set(group, [...(own.get(group) ?? []), { key, at: now }].slice(-MOST_WAITING));
    return undefined;
  }
}
