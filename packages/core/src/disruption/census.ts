import { Labels, type Machine, type MachineClass } from '@mcm/api';
import { type Informer, type Key, type KubeObject, keyOf, makeKey, type Node, type RegionReach } from '@mcm/kube';
import { offeringOf } from '../driver/offerings/alternative.ts';
import { millis } from '../values/timestamps.ts';
import {
  type BreakerLimits,
  CLUSTER,
  instantOf,
  isUnreachable,
  type OpenBreaker,
  openBreaker,
  reachabilityMarks,
  regionBreaker,
  scopesOf,
  zoneIn,
} from './unreachable.ts';

export interface Source<T extends KubeObject> extends Pick<Informer<T>, 'onChange'> {
  readonly store: Pick<Informer<T>['store'], 'get'>;
}

export interface CensusSources {
  readonly machines: Source<Machine>;
  readonly classes: Source<MachineClass>;
  readonly nodes: Source<Node> | undefined;
  /** Returns the reachability of the other clusters in the region. */
  readonly region?: (() => RegionReach | undefined) | undefined;
}

const UNREACHABLE = 'unreachable/';

type Listeners = Map<string, () => void>;

export type OnFiled = (key: Key, machine: Machine | undefined, scopes: readonly string[]) => void;

interface Filed {
  readonly scopes: readonly string[];
  readonly marks: readonly string[];
}

const sameFiling = (a: Filed, b: Filed): boolean =>
  String(a.scopes) === String(b.scopes) && String(a.marks) === String(b.marks);

/**
 * Counts unreachable machines by scope and minute. mcm computes all counts from API objects, so the counts are equal
 * after a restart and in all controllers.
 */
export class UnreachableCensus {
  readonly #sources: CensusSources;
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #outages = new Map<string, Map<string, number>>();
  readonly #filed = new Map<Key, Filed>();
  readonly #listeners = new Map<string, Listeners>();
  readonly #byClass = new Map<string, Set<Key>>();
  readonly #byNode = new Map<string, Set<Key>>();
  readonly #onFiled: OnFiled[] = [];

  constructor(sources: CensusSources) {
    this.#sources = sources;
    sources.machines.onChange((change) => {
      if (change.type === 'updated') this.#link(change.old, change.key, false);
      this.#link(change.object, change.key, change.type !== 'deleted');
      this.#file(change.key, change.type === 'deleted' ? undefined : change.object);
    });
    sources.classes.onChange(({ object }) => {
      this.#refile(this.#byClass.get(object.metadata.name));
      // A change of the class annotations can override the circuit breaker, so mcm checks the waiting machines again.
      this.#notify(classScope(object.metadata.name));
    });
    sources.nodes?.onChange((change) => {
      const zone = (node: Node) => node.metadata.labels?.[Labels.Zone];
      if (change.type === 'updated' && zone(change.old) === zone(change.object)) return;
      // A machine keeps its zone after the deletion of its Node, because the machine may count as unreachable in this
      // zone.
      if (change.type !== 'deleted') this.#refile(this.#byNode.get(change.object.metadata.name));
    });
  }

  #link(machine: Machine, key: Key, on: boolean): void {
    const nodeName = machine.metadata.labels?.[Labels.Node];
    put(this.#byClass, machine.spec.class?.name, key, on);
    put(this.#byNode, nodeName, key, on);
  }

  #refile(keys: ReadonlySet<Key> = new Set()): void {
    for (const key of keys) this.#file(key, this.#sources.machines.store.get(key));
  }

  #file(key: Key, machine: Machine | undefined): void {
    const old = this.#filed.get(key);
    if (!machine) {
      this.#filed.delete(key);
      if (old) this.#add(old, -1);
      for (const hear of this.#onFiled) hear(key, undefined, []);
      return;
    }
    const filed = { scopes: scopesOf(this.zoneOf(machine)), marks: reachabilityMarks(machine) };
    for (const hear of this.#onFiled) hear(key, machine, filed.scopes);
    if (old && sameFiling(old, filed)) return;
    if (old) this.#add(old, -1);
    this.#filed.set(key, filed);
    this.#add(filed, 1);
  }

  #add({ scopes, marks }: Filed, by: 1 | -1): void {
    for (const scope of scopes) {
      if (marks.length > 0) this.#notify(scope);
      for (const mark of marks) {
        const sum = this.#countOf(scope, mark) + by;
        enter(this.#counts, scope, mark, sum > 0 ? sum : undefined);
        if (mark.startsWith(UNREACHABLE)) {
          enter(this.#outages, scope, mark, sum > 0 ? instantOf(Number(mark.slice(UNREACHABLE.length))) : undefined);
        }
      }
    }
  }

  readonly #countOf = (scope: string, mark: string): number => this.#counts.get(scope)?.get(mark) ?? 0;

  #notify(scope: string): void {
    const listeners = this.#listeners.get(scope);
    if (listeners === undefined) return;
    this.#listeners.delete(scope);
    for (const wake of listeners.values()) wake();
  }

  /** Calls `wake` once, when the next change may open or close a circuit breaker of the machine. */
  onceChanged(machine: Machine, id: string, wake: () => void): void {
    const scopes = this.#filed.get(keyOf(machine))?.scopes ?? [];
    for (const scope of [...scopes, classScope(machine.spec.class?.name ?? '')]) {
      const listeners = this.#listeners.get(scope) ?? new Map<string, () => void>();
      this.#listeners.set(scope, listeners);
      listeners.set(id, wake);
    }
  }

  /**
   * Returns the zone of a machine. If the machine has an alternative offering, the zone of its Node takes precedence,
   * because the node template may contain a different zone.
   */
  zoneOf(machine: Machine): string | undefined {
    const { classes, nodes } = this.#sources;
    const { labels, namespace } = machine.metadata;
    const node = nodes?.store.get(labels?.[Labels.Node] ?? '');
    const known = node?.metadata.labels?.[Labels.Zone] ?? zoneIn(this.#filed.get(keyOf(machine))?.scopes ?? []);
    const alternative = offeringOf(machine);
    if (alternative?.zone || alternative?.subnet) return known ?? alternative.zone;
    const labelled = machine.spec.nodeTemplate?.metadata?.labels?.[Labels.Zone];
    if (labelled) return labelled;
    const machineClass = classes.store.get(makeKey(namespace, machine.spec.class?.name ?? ''));
    return machineClass?.nodeTemplate?.zone || known;
  }

  /**
   * Returns the first open circuit breaker for the zone or the cluster of the machine. In a fleet, the circuit breaker
   * also counts the clusters of the region (incidents 12 and 13).
   */
  breakerOf(machine: Machine, limits: BreakerLimits, now: Date): OpenBreaker | undefined {
    const since = isUnreachable(machine) ? millis(machine.status?.currentStatus?.lastUpdateTime) : undefined;
    for (const scope of this.#filed.get(keyOf(machine))?.scopes ?? []) {
      const open = this.#openIn(scope, since, limits, now);
      if (open) return open;
    }
    return regionBreaker(this.#sources.region?.(), limits, now);
  }

  #openIn(scope: string, since: number | undefined, limits: BreakerLimits, now: Date): OpenBreaker | undefined {
    const outages = this.#outages.get(scope)?.values() ?? [];
    for (const instant of since === undefined ? [...outages, now.getTime()] : [since]) {
      const open = openBreaker(scope, instant, this.#countOf, limits, now);
      if (open) return open;
    }
    return undefined;
  }

  /** In a fleet, the scope of the cluster includes its region. */
  openIn(scope: string, limits: BreakerLimits, now: Date): OpenBreaker | undefined {
    const region = scope === CLUSTER ? this.#sources.region?.() : undefined;
    return this.#openIn(scope, undefined, limits, now) ?? regionBreaker(region, limits, now);
  }

  joinedIn(scope: string): number {
    return this.#countOf(scope, 'joined');
  }

  /** Registers a listener for changes of machines, before the caches start. */
  onFiled(hear: OnFiled): void {
    this.#onFiled.push(hear);
  }

  /**
   * Detects unreachable machines in a cluster that has too few machines for a circuit breaker. `peers` is set if the
   * cluster has at least two machines, and all its machines are unreachable.
   */
  smallClusterOf(machine: Machine, limits: BreakerLimits, now: Date): { readonly peers?: OpenBreaker } | undefined {
    if (limits.thresholdPercent > 100 || !isUnreachable(machine)) return undefined;
    const joined = this.#countOf(CLUSTER, 'joined');
    if (joined >= limits.minimumCount) return undefined;
    if (joined < 2) return {};
    const since = millis(machine.status?.currentStatus?.lastUpdateTime);
    const whole = { ...limits, minimumCount: joined };
    const peers = openBreaker(CLUSTER, since, this.#countOf, whole, now);
    return peers ? { peers } : {};
  }
}

const classScope = (name: string): string => `class ${name}`;

function put(index: Map<string, Set<Key>>, value: string | undefined, key: Key, on: boolean): void {
  if (!value) return;
  const keys = index.get(value) ?? new Set();
  if (on) keys.add(key);
  else keys.delete(key);
  if (keys.size > 0) index.set(value, keys);
  else index.delete(value);
}

function enter(index: Map<string, Map<string, number>>, scope: string, mark: string, value: number | undefined): void {
  const entries = index.get(scope) ?? new Map<string, number>();
  if (value === undefined) entries.delete(mark);
  else entries.set(mark, value);
  if (entries.size > 0) index.set(scope, entries);
  else index.delete(scope);
}
