import { Labels, type Machine, type MachineClass } from '@mcm/api';
import { type Informer, type Key, type KubeObject, keyOf, makeKey, type Node } from '@mcm/kube';
import { millis } from '../values/timestamps.ts';
import {
  type BreakerLimits,
  CLUSTER,
  instantOf,
  isSilent,
  type OpenBreaker,
  openBreaker,
  scopesOf,
  silenceMarks,
} from './silence.ts';

/** Just as much of an informer as a census listens to. */
export interface Source<T extends KubeObject> extends Pick<Informer<T>, 'onChange'> {
  readonly store: Pick<Informer<T>['store'], 'get'>;
}

/** The caches that a census is kept from. */
export interface CensusSources {
  readonly machines: Source<Machine>;
  readonly classes: Source<MachineClass>;
  /** Undefined without a target cluster. */
  readonly nodes: Source<Node> | undefined;
}

const SILENT = 'silent/';

/** Who wants to hear, once, of a change of any of these counts. */
type Listeners = Map<string, () => void>;

interface Filed {
  readonly scopes: readonly string[];
  readonly marks: readonly string[];
}

const sameFiling = (a: Filed, b: Filed): boolean =>
  String(a.scopes) === String(b.scopes) && String(a.marks) === String(b.marks);

/**
 * Who fell silent where and when, kept by each change and never by a look at the whole fleet. Everything in it is in
 * the objects, so that a restart changes nothing and both binaries see the same.
 */
export class SilenceCensus {
  readonly #sources: CensusSources;
  /** Machines per scope and mark. */
  readonly #counts = new Map<string, Map<string, number>>();
  /**
   * Marks per scope of those that are silent now, with their instants in milliseconds: never more than there are silent
   * machines, whereas the marks of recoveries stay for as long as their machines do.
   */
  readonly #outages = new Map<string, Map<string, number>>();
  readonly #filed = new Map<Key, Filed>();
  readonly #listeners = new Map<string, Listeners>();
  readonly #byClass = new Map<string, Set<Key>>();
  readonly #byNode = new Map<string, Set<Key>>();

  constructor(sources: CensusSources) {
    this.#sources = sources;
    sources.machines.onChange((change) => {
      if (change.type === 'updated') this.#link(change.old, change.key, false);
      this.#link(change.object, change.key, change.type !== 'deleted');
      this.#file(change.key, change.type === 'deleted' ? undefined : change.object);
    });
    sources.classes.onChange(({ object }) => {
      this.#refile(this.#byClass.get(object.metadata.name));
      // Its annotation may overrule the breaker.
      this.#tell(classScope(object.metadata.name));
    });
    sources.nodes?.onChange((change) => {
      const zone = (node: Node) => node.metadata.labels?.[Labels.Zone];
      if (change.type === 'updated' && zone(change.old) === zone(change.object)) return;
      // The zone of a Node that has gone is still that of its machine, which may be silent for that very reason.
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
      return;
    }
    const known = old?.scopes.find((scope) => scope.startsWith('zone '));
    const zone = this.zoneOf(machine);
    const filed = { scopes: zone || !known ? scopesOf(zone) : (old?.scopes ?? []), marks: silenceMarks(machine) };
    if (old && sameFiling(old, filed)) return;
    if (old) this.#add(old, -1);
    this.#filed.set(key, filed);
    this.#add(filed, 1);
  }

  #add({ scopes, marks }: Filed, by: 1 | -1): void {
    for (const scope of scopes) {
      if (marks.length > 0) this.#tell(scope);
      for (const mark of marks) {
        const sum = this.#countOf(scope, mark) + by;
        enter(this.#counts, scope, mark, sum > 0 ? sum : undefined);
        if (mark.startsWith(SILENT)) {
          enter(this.#outages, scope, mark, sum > 0 ? instantOf(Number(mark.slice(SILENT.length))) : undefined);
        }
      }
    }
  }

  readonly #countOf = (scope: string, mark: string): number => this.#counts.get(scope)?.get(mark) ?? 0;

  #tell(scope: string): void {
    const listeners = this.#listeners.get(scope);
    if (listeners === undefined) return;
    this.#listeners.delete(scope);
    for (const wake of listeners.values()) wake();
  }

  /**
   * Calls `wake` once, at the next change that can open or close a breaker of the machine: of the counts of its scopes,
   * or of its class. Whoever is woken looks, and asks again if it still matters.
   * @param id Of whoever asks: the last call for a scope counts.
   */
  onceChanged(machine: Machine, id: string, wake: () => void): void {
    const scopes = this.#filed.get(keyOf(machine))?.scopes ?? [];
    for (const scope of [...scopes, classScope(machine.spec.class?.name ?? '')]) {
      const listeners = this.#listeners.get(scope) ?? new Map<string, () => void>();
      this.#listeners.set(scope, listeners);
      listeners.set(id, wake);
    }
  }

  /** Zone of a machine: as its node template labels it, else as its class says, else as its Node is labelled. */
  zoneOf(machine: Machine): string | undefined {
    const { classes, nodes } = this.#sources;
    const { labels, namespace } = machine.metadata;
    const labelled = machine.spec.nodeTemplate?.metadata?.labels?.[Labels.Zone];
    if (labelled) return labelled;
    const machineClass = classes.store.get(makeKey(namespace, machine.spec.class?.name ?? ''));
    const node = nodes?.store.get(labels?.[Labels.Node] ?? '');
    return machineClass?.nodeTemplate?.zone || node?.metadata.labels?.[Labels.Zone];
  }

  /**
   * The first open breaker of the machine's scopes. For a silent machine those are counted that fell silent around its
   * own time; for any other one, any that fell silent together, or did so lately and spoke again. Source: incidents #12
   * and #13.
   */
  breakerOf(machine: Machine, limits: BreakerLimits, now: Date): OpenBreaker | undefined {
    const since = isSilent(machine) ? millis(machine.status?.currentStatus?.lastUpdateTime) : undefined;
    for (const scope of this.#filed.get(keyOf(machine))?.scopes ?? []) {
      const outages = this.#outages.get(scope)?.values() ?? [];
      for (const instant of since === undefined ? [...outages, now.getTime()] : [since]) {
        const open = openBreaker(scope, instant, this.#countOf, limits, now);
        if (open) return open;
      }
    }
    return undefined;
  }

  /**
   * Whether a machine is silent in a cluster with fewer machines than a breaker needs. `peers`: that each of them, and
   * not this one alone, is silent. Then the network is as likely a cause as the machines.
   */
  smallClusterOf(machine: Machine, limits: BreakerLimits, now: Date): { readonly peers?: OpenBreaker } | undefined {
    if (limits.thresholdPercent > 100 || !isSilent(machine)) return undefined;
    const joined = this.#countOf(CLUSTER, 'joined');
    if (joined >= limits.minimumCount) return undefined;
    if (joined < 2) return {};
    const since = millis(machine.status?.currentStatus?.lastUpdateTime);
    const whole = { ...limits, minimumCount: joined, thresholdPercent: 100 };
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

/** Sets a number of a scope, or takes it out. */
function enter(index: Map<string, Map<string, number>>, scope: string, mark: string, value: number | undefined): void {
  const entries = index.get(scope) ?? new Map<string, number>();
  if (value === undefined) entries.delete(mark);
  else entries.set(mark, value);
  if (entries.size > 0) index.set(scope, entries);
  else index.delete(scope);
}
