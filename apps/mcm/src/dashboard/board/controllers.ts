import type { Machine, MachineDeployment } from '@mcm/api';
import type { ControllerRow, ControllerState, Level } from '@mcm/dashboard';
import type { Informer } from '@mcm/kube';
import { type ControllerHealth, isFirst } from '../../controllers/health.ts';
import type { ControllerWatch } from '../../controllers/watch.ts';
import { brieflyVisible, millisOf } from '../rows/text.ts';

interface Fleet {
  readonly deployments: Pick<Informer<MachineDeployment>, 'store'>;
  readonly machines: Pick<Informer<Machine>, 'store'>;
}

/**
 * The level of each state. The state `unknown` is not a problem, because a controller without leader election has no
 * Lease.
 */
const LEVEL_OF: Readonly<Record<ControllerState, Level>> = {
  acts: 'ready',
  stopped: 'failed',
  behind: 'blocked',
  unknown: 'leaving',
};

export class Controllers {
  readonly #watch: ControllerWatch;
  readonly #namespace: string | undefined;
  #known: ReadonlyMap<string, readonly ControllerHealth[]> = new Map();
  #programs: readonly ControllerHealth[] = [];

  constructor(watch: ControllerWatch, namespace: string | undefined) {
    this.#watch = watch;
    this.#namespace = namespace;
  }

  /** Returns the state of the controllers in a namespace. */
  of(namespace: string): readonly ControllerHealth[] {
    return this.#known.get(namespace) ?? [];
  }

  /** Sets the programs of the local instance that do not respond to requests. */
  notePrograms(programs: readonly ControllerHealth[]): void {
    this.#programs = programs;
  }

  /** Assesses all controllers, and returns the namespaces in which the state of a controller has changed. */
  assess(fleet: Fleet): ReadonlySet<string> {
    const deployments = byNamespace(fleet.deployments.store.list());
    const machines = byNamespace(fleet.machines.store.list());
    const namespaces =
      this.#namespace === undefined
        ? new Set([...deployments.keys(), ...machines.keys(), ...this.#watch.namespaces()])
        : new Set([this.#namespace]);
    const next = new Map(
      [...namespaces].sort().map((name) => {
        const objects = { deployments: deployments.get(name) ?? [], machines: machines.get(name) ?? [] };
        return [name, [...this.#watch.assess(name, objects), ...this.#programs]];
      }),
    );
    this.#watch.keep(namespaces);
    const changed = [...new Set([...this.#known.keys(), ...namespaces])].filter(
      (name) => JSON.stringify(this.#known.get(name)) !== JSON.stringify(next.get(name)),
    );
    this.#known = next;
    return new Set(changed);
  }

  rows(): readonly ControllerRow[] {
    const all = [...this.#known].flatMap(([ns, healths]) => healths.map((health) => ({ ...health, ns })));
    return all.filter(isFirst).map((one) => rowOf(one.ns, one));
  }
}

const byNamespace = <T extends Machine | MachineDeployment>(all: readonly T[]): ReadonlyMap<string, readonly T[]> =>
  Map.groupBy(all, ({ metadata }) => metadata.namespace ?? '');

const rowOf = (ns: string, { name, state, since, holder, reason, effects }: ControllerHealth): ControllerRow => ({
  key: `${ns}/${name}`,
  ns,
  name,
  state,
  holder: brieflyVisible(holder ?? ''),
  since: millisOf(since) ?? 0,
  level: LEVEL_OF[state],
  why: brieflyVisible(reason),
  effects,
});
