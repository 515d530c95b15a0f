import { type Machine, phaseOf } from '@mcm/api';
import type { Key } from '@mcm/kube';
import { isAvailable, isFailed, isTerminating } from '../../objects/machines.ts';
import type { Cause } from './rows.ts';

type State = Cause | 'available';

export interface ScopeCounts {
  readonly machines: number;
  readonly states: ReadonlyMap<State, number>;
  readonly unreachable: ReadonlyMap<Key, Machine>;
}

interface Counts extends ScopeCounts {
  machines: number;
  readonly states: Map<State, number>;
  readonly unreachable: Map<Key, Machine>;
}

interface Filed {
  readonly scopes: readonly string[];
  readonly state: State;
}

const UPDATING: ReadonlySet<string | undefined> = new Set([
  'InPlaceUpdating',
  'InPlaceUpdateFailed',
  'InPlaceUpdateSuccessful',
]);

function stateOf(machine: Machine): State {
  if (isTerminating(machine)) return 'terminating';
  if (isAvailable(machine)) return 'available';
  if (isFailed(machine)) return 'failed';
  const phase = phaseOf(machine);
  if (phase === 'Unknown') return 'unreachable';
  return UPDATING.has(phase) ? 'updating' : 'creating';
}

/** After each change of a machine, counts the machines of each scope by state. */
export class DisruptionTally {
  readonly #scopes = new Map<string, Counts>();
  readonly #filed = new Map<Key, Filed>();

  file(key: Key, machine: Machine | undefined, scopes: readonly string[]): boolean {
    const old = this.#filed.get(key);
    const filed = machine && { scopes, state: stateOf(machine) };
    const same = old && filed && old.state === filed.state && String(old.scopes) === String(scopes);
    if (same && filed.state !== 'unreachable') return false;
    if (old) this.#remove(key, old);
    if (machine && filed) this.#add(key, filed, machine);
    return true;
  }

  #remove(key: Key, { scopes, state }: Filed): void {
    this.#filed.delete(key);
    for (const scope of scopes) {
      const counts = this.#scopes.get(scope);
      if (counts === undefined) continue;
      counts.machines -= 1;
      counts.states.set(state, (counts.states.get(state) ?? 0) - 1);
      counts.unreachable.delete(key);
      if (counts.machines === 0) this.#scopes.delete(scope);
    }
  }

  #add(key: Key, filed: Filed, machine: Machine): void {
    this.#filed.set(key, filed);
    for (const scope of filed.scopes) {
      const counts: Counts = this.#scopes.get(scope) ?? { machines: 0, states: new Map(), unreachable: new Map() };
      this.#scopes.set(scope, counts);
      counts.machines += 1;
      counts.states.set(filed.state, (counts.states.get(filed.state) ?? 0) + 1);
      if (filed.state === 'unreachable') counts.unreachable.set(key, machine);
    }
  }

  get scopes(): Iterable<readonly [scope: string, counts: ScopeCounts]> {
    return this.#scopes;
  }
}
