import { Labels, type Machine, type MachineClass } from '@mcm/api';
import { type Informer, type Key, keyOf, makeKey, type Node } from '@mcm/kube';
import { millis } from '../machine/timestamps.ts';
import {
  type BreakerLimits,
  instantOf,
  isSilent,
  type OpenBreaker,
  openBreaker,
  scopesOf,
  silenceMarks,
} from './silence.ts';

/** The caches that a census is kept from. */
export interface CensusSources {
  readonly machines: Informer<Machine>;
  readonly classes: Informer<MachineClass>;
  /** Undefined without a target cluster. */
  readonly nodes: Informer<Node> | undefined;
}

const SILENT = 'silent/';

/**
 * Who fell silent where and when, kept by each change and never by a look at the whole fleet. Everything in it is in
 * the objects, so that a restart changes nothing and both binaries see the same.
 */
export class SilenceCensus {
  readonly #sources: CensusSources;
  /** Machines per scope and mark. */
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #filed = new Map<Key, { readonly scopes: readonly string[]; readonly marks: readonly string[] }>();
  readonly #byClass = new Map<string, Set<Key>>();
  readonly #byNode = new Map<string, Set<Key>>();

  constructor(sources: CensusSources) {
    this.#sources = sources;
    sources.machines.onChange((change) => {
      if (change.type === 'updated') this.#link(change.old, change.key, false);
      this.#link(change.object, change.key, change.type !== 'deleted');
      this.#file(change.key, change.type === 'deleted' ? undefined : change.object);
    });
    sources.classes.onChange(({ object }) => this.#refile(this.#byClass.get(object.metadata.name)));
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
    if (old) this.#add(old, -1);
    if (!machine) return void this.#filed.delete(key);
    const known = old?.scopes.find((scope) => scope.startsWith('zone '));
    const zone = this.zoneOf(machine);
    const filed = { scopes: zone || !known ? scopesOf(zone) : (old?.scopes ?? []), marks: silenceMarks(machine) };
    this.#filed.set(key, filed);
    this.#add(filed, 1);
  }

  #add({ scopes, marks }: { readonly scopes: readonly string[]; readonly marks: readonly string[] }, by: 1 | -1): void {
    for (const scope of scopes) {
      const counts = this.#counts.get(scope) ?? new Map<string, number>();
      this.#counts.set(scope, counts);
      for (const mark of marks) {
        const sum = (counts.get(mark) ?? 0) + by;
        if (sum > 0) counts.set(mark, sum);
        else counts.delete(mark);
      }
      if (counts.size === 0) this.#counts.delete(scope);
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
   * own time; for any other one, any that fell silent together. Source: incidents #12 and #13.
   */
  breakerOf(machine: Machine, limits: BreakerLimits, now: Date): OpenBreaker | undefined {
    const since = isSilent(machine) ? millis(machine.status?.currentStatus?.lastUpdateTime) : undefined;
    for (const scope of this.#filed.get(keyOf(machine))?.scopes ?? []) {
      for (const instant of since === undefined ? this.#outages(scope) : [since]) {
        const open = openBreaker(scope, instant, (where, mark) => this.#counts.get(where)?.get(mark) ?? 0, limits, now);
        if (open) return open;
      }
    }
    return undefined;
  }

  #outages(scope: string): readonly number[] {
    const marks = [...(this.#counts.get(scope)?.keys() ?? [])];
    return marks.flatMap((mark) => (mark.startsWith(SILENT) ? [instantOf(Number(mark.slice(SILENT.length)))] : []));
  }
}

function put(index: Map<string, Set<Key>>, value: string | undefined, key: Key, on: boolean): void {
  if (!value) return;
  const keys = index.get(value) ?? new Set();
  if (on) keys.add(key);
  else keys.delete(key);
  if (keys.size > 0) index.set(value, keys);
  else index.delete(value);
}
