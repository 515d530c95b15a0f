import type { MachineDeployment } from '@mcm/api';
import { type Informer, isHeld, type Key, keyOf } from '@mcm/kube';
import { type Matcher, matcherOf } from '../objects/selector.ts';
import { sameEntries, semanticEqual } from '../values/semantic-equal.ts';

interface Entry {
  readonly deployment: MachineDeployment;
  readonly matches: Matcher;
  readonly place: string;
}

const ANY = '';

const pairsOf = (labels: Readonly<Record<string, string>> = {}): string[] =>
  Object.entries(labels).map(([key, value]) => `${key}=${value}`);

const templateLabels = ({ spec }: MachineDeployment) => spec.template?.metadata?.labels;

/**
 * The search for overlaps compares only deployments that share the rarest label of the selector, so its cost stays low.
 */
export class SelectorOverlaps {
  readonly #entries = new Map<Key, Entry>();
  readonly #byLabel = new Map<string, Set<Key>>();
  readonly #byPlace = new Map<string, Set<Key>>();
  readonly #partners = new Map<Key, Set<Key>>();

  constructor(deployments: Pick<Informer<MachineDeployment>, 'onChange'>, changed: (key: Key) => void) {
    deployments.onChange((change) => {
      const { key, object } = change;
      // The controller does not reconcile a malformed deployment, so its selector has no overlaps.
      const gone = change.type === 'deleted' || object.metadata.deletionTimestamp !== undefined || isHeld(object);
      const known = this.#entries.get(key)?.deployment;
      if (known && !gone && sameSelection(known, object)) return;
      const before = this.#take(key);
      const after = gone ? new Set<Key>() : this.#put(key, object);
      for (const other of new Set([...before, ...after])) {
        if (before.has(other) === after.has(other)) continue;
        changed(other);
        changed(key);
      }
    });
  }

  /**
   * Returns the keys of the deployments that overlap this deployment. Two deployments overlap if the selector of one
   * deployment matches machines of the other deployment.
   */
  of(key: Key): readonly Key[] {
    return [...(this.#partners.get(key) ?? [])];
  }

  #take(key: Key): ReadonlySet<Key> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return new Set();
    this.#entries.delete(key);
    for (const pair of pairsOf(templateLabels(entry.deployment))) remove(this.#byLabel, pair, key);
    remove(this.#byPlace, entry.place, key);
    const partners = this.#partners.get(key) ?? new Set();
    this.#partners.delete(key);
    for (const other of partners) remove(this.#partners, other, key);
    return partners;
  }

  #put(key: Key, deployment: MachineDeployment): Set<Key> {
    const { selector } = deployment.spec;
    const labels = templateLabels(deployment);
    const matches = matcherOf(selector);
    for (const pair of pairsOf(labels)) insert(this.#byLabel, pair, key);
    const place = this.#rarest(pairsOf(selector?.matchLabels));
    this.#entries.set(key, { deployment, matches, place });
    insert(this.#byPlace, place, key);
    const candidates = new Set([
      ...(place === ANY ? this.#entries.keys() : (this.#byLabel.get(place) ?? [])),
      ...[ANY, ...pairsOf(labels)].flatMap((pair) => [...(this.#byPlace.get(pair) ?? [])]),
    ]);
    const partners = new Set<Key>();
    for (const other of candidates) {
      const entry = this.#entries.get(other);
      if (other === key || entry === undefined) continue;
      if (entry.deployment.metadata.namespace !== deployment.metadata.namespace) continue;
      if (!matches(templateLabels(entry.deployment)) && !entry.matches(labels)) continue;
      partners.add(other);
      insert(this.#partners, other, key);
    }
    if (partners.size > 0) this.#partners.set(key, partners);
    return partners;
  }

  #rarest(pairs: readonly string[]): string {
    const count = (pair: string) => this.#byLabel.get(pair)?.size ?? 0;
    return pairs.reduce((a, b) => (a === ANY || count(b) < count(a) ? b : a), ANY);
  }
}

const sameSelection = (a: MachineDeployment, b: MachineDeployment): boolean =>
  a.metadata.uid === b.metadata.uid &&
  (a.metadata.generation === b.metadata.generation ||
    (semanticEqual(a.spec.selector, b.spec.selector) && sameEntries(templateLabels(a), templateLabels(b))));

function insert(index: Map<string, Set<Key>>, value: string, key: Key): void {
  index.set(value, (index.get(value) ?? new Set()).add(key));
}

function remove(index: Map<string, Set<Key>>, value: string, key: Key): void {
  const keys = index.get(value);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(value);
}

export const overlapsIn = (
  overlaps: SelectorOverlaps,
  deployment: MachineDeployment,
  { store }: Informer<MachineDeployment>,
): readonly MachineDeployment[] => overlaps.of(keyOf(deployment)).flatMap((key) => store.get(key) ?? []);
