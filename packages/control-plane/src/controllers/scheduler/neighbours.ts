import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { selectorOf } from '../../selectors/label-selector.ts';
import { isDying, namespaceOf } from '../objects/fields.ts';
import { isNamed, isTolerated } from './node-match.ts';
import { crowded, final, type Refusal } from './refusal.ts';

type Counts = Map<string, number>;
type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>>;

/** A group of similar pods: their namespace, labels and termination state are equal. */
interface Group<T> {
  readonly key: string;
  readonly of: T;
  readonly nodes: Counts;
}

interface Alike {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly dying: boolean;
}

interface Place {
  readonly node: string;
  readonly kind: string;
  readonly repelling: readonly string[];
}

interface OwnedTerm {
  readonly owner: ApiObject;
  readonly term: Plain;
}

export type NeighbourCheck = (node: ApiObject) => Refusal | undefined;

const NONE: readonly never[] = [];
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';

const alikeOf = (pod: ApiObject): Alike => ({
  namespace: namespaceOf(pod),
  labels: pod.metadata.labels ?? {},
  dying: isDying(pod),
});

const termsOf = (pod: ApiObject, kind: 'podAffinity' | 'podAntiAffinity'): Plain[] =>
  items(look(pod, 'spec', 'affinity', kind), REQUIRED);

const spreadOf = (pod: ApiObject): Plain[] =>
  items(look(pod, 'spec'), 'topologySpreadConstraints').filter((one) => one.whenUnsatisfiable !== 'ScheduleAnyway');

function count(counts: Counts, key: string, by: number): void {
  const now = (counts.get(key) ?? 0) + by;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}

/**
 * Compiles the label selector of an affinity term. The API server has already added the labels of `matchLabelKeys` to
 * the selector.
 */
function labelMatcher(term: Plain): (labels: Readonly<Record<string, string>>) => boolean {
  if (!isRecord(term.labelSelector)) return () => false;
  return selectorOf(term.labelSelector as Parameters<typeof selectorOf>[0]);
}

const selectsAll = (term: Plain): boolean =>
  isRecord(term.labelSelector) &&
  Object.keys(look(term, 'labelSelector', 'matchLabels')).length === 0 &&
  items(look(term, 'labelSelector'), 'matchExpressions').length === 0;

/** A term without namespaces applies to the namespace of its owner. */
function termMatcher({ owner, term }: OwnedTerm, namespaceLabels: NamespaceLabels): (pods: Alike) => boolean {
  const matches = labelMatcher(term);
  const named = strings(term, 'namespaces');
  const byLabels = isRecord(term.namespaceSelector)
    ? selectorOf(term.namespaceSelector as Parameters<typeof selectorOf>[0])
    : undefined;
  const inScope = (namespace: string): boolean => {
    if (named.length === 0 && byLabels === undefined) return namespace === namespaceOf(owner);
    return named.includes(namespace) || byLabels?.(namespaceLabels(namespace)) === true;
  };
  return ({ namespace, labels }) => inScope(namespace) && matches(labels);
}

const SPREAD = "node(s) didn't match pod topology spread constraints";

const countsFor = (constraint: Plain, pod: ApiObject, node: ApiObject): boolean =>
  (constraint.nodeAffinityPolicy === 'Ignore' || isNamed(pod, node)) &&
  (constraint.nodeTaintsPolicy !== 'Honor' || isTolerated(pod, node));

/** Counts pods in groups of similar pods, because the scheduler checks each group faster than each pod. */
export class Neighbours {
  readonly #alike = new Map<string, Group<Alike>>();
  readonly #repelling = new Map<string, Group<OwnedTerm>>();
  /** The place of each pod. To save memory, the map does not keep the pod objects. */
  readonly #pods = new Map<string, Place>();

  put(pod: ApiObject, node: string): void {
    const alike = alikeOf(pod);
    const kind = enter(this.#alike, JSON.stringify([alike.namespace, alike.labels, alike.dying]), alike, node);
    const terms = termsOf(pod, 'podAntiAffinity');
    const repelling = terms.map((term) =>
      enter(this.#repelling, JSON.stringify([alike.namespace, term]), { owner: pod, term }, node),
    );
    this.#pods.set(pod.metadata.uid ?? '', { node, kind, repelling: repelling.length === 0 ? NONE : repelling });
  }

  remove(uid: string): void {
    const known = this.#pods.get(uid);
    if (known === undefined) return;
    this.#pods.delete(uid);
    leave(this.#alike, known.kind, known.node);
    for (const key of known.repelling) leave(this.#repelling, key, known.node);
  }

  /** `namespaceLabels` is necessary for terms that select namespaces. */
  checkFor(pod: ApiObject, nodes: readonly ApiObject[], namespaceLabels: NamespaceLabels): NeighbourCheck {
    const checks: NeighbourCheck[] = [];
    const byName = new Map(nodes.map((node) => [node.metadata.name ?? '', node]));
    const domains = (of: Iterable<Counts>, key: string): Counts => {
      const found: Counts = new Map();
      for (const counts of of) {
        for (const [name, pods] of counts) {
          const value = byName.get(name)?.metadata.labels?.[key];
          if (value !== undefined) count(found, value, pods);
        }
      }
      return found;
    };
    const spread = spreadOf(pod);
    for (const constraint of spread) checks.push(this.#spread(pod, constraint, spread, nodes));
    const attracting = termsOf(pod, 'podAffinity');
    if (attracting.length > 0) checks.push(this.#attracted(pod, attracting, domains, namespaceLabels));
    for (const term of termsOf(pod, 'podAntiAffinity')) {
      const taken = domains(
        this.#matching(termMatcher({ owner: pod, term }, namespaceLabels)),
        text(term, 'topologyKey'),
      );
      checks.push(refuseIn(taken, term, "node(s) didn't match pod anti-affinity rules"));
    }
    for (const { of, nodes: counts } of this.#repelling.values()) {
      if (!termMatcher(of, namespaceLabels)(alikeOf(pod))) continue;
      const taken = domains([counts], text(of.term, 'topologyKey'));
      checks.push(refuseIn(taken, of.term, "node(s) didn't satisfy existing pods anti-affinity rules"));
    }
    return (node) => {
      for (const check of checks) {
        const why = check(node);
        if (why !== undefined) return why;
      }
      return undefined;
    };
  }

  /**
   * Returns the nodes that satisfy the affinity terms of a new pod. An existing pod counts only if the pod matches all
   * terms. If no pod matches, the new pod may match its own affinity terms.
   */
  #attracted(
    pod: ApiObject,
    terms: readonly Plain[],
    domains: (of: Iterable<Counts>, key: string) => Counts,
    namespaceLabels: NamespaceLabels,
  ): NeighbourCheck {
    const matchers = terms.map((term) => termMatcher({ owner: pod, term }, namespaceLabels));
    const matches = (pods: Alike): boolean => matchers.every((one) => one(pods));
    const groups = [...this.#matching(matches)];
    const wanted = terms.map((term) => {
      const key = text(term, 'topologyKey');
      return { key, present: domains(groups, key) };
    });
    const first = wanted.every(({ present }) => present.size === 0) && matches(alikeOf(pod));
    const isNear = ({ key, present }: { key: string; present: Counts }, node: ApiObject): boolean => {
      const value = node.metadata.labels?.[key];
      return value !== undefined && (first || present.has(value));
    };
    return (node) =>
      wanted.every((one) => isNear(one, node)) ? undefined : final("node(s) didn't match pod affinity rules");
  }

  #spread(pod: ApiObject, constraint: Plain, all: readonly Plain[], nodes: readonly ApiObject[]): NeighbourCheck {
    const key = text(constraint, 'topologyKey');
    const matches = labelMatcher(constraint);
    const namespace = namespaceOf(pod);
    // Topology spread does not count terminating pods.
    const counted = (pods: Alike): boolean => !pods.dying && pods.namespace === namespace && matches(pods.labels);
    const groups = selectsAll(constraint) ? [] : [...this.#matching(counted)];
    // Topology spread counts only pods on nodes that the new pod could use.
    const counts: Counts = new Map();
    for (const node of nodes) {
      if (!countsFor(constraint, pod, node)) continue;
      const { labels, name = '' } = node.metadata;
      if (all.some((one) => labels?.[text(one, 'topologyKey')] === undefined)) continue;
      const value = labels?.[key] ?? '';
      const here = groups.reduce((sum, group) => sum + (group.get(name) ?? 0), 0);
      counts.set(value, (counts.get(value) ?? 0) + here);
    }
    const tooFew = counts.size < (number(constraint, 'minDomains') ?? 1);
    const least = tooFew ? 0 : Math.min(...counts.values());
    const self = matches(pod.metadata.labels ?? {}) ? 1 : 0;
    const maxSkew = number(constraint, 'maxSkew') ?? 1;
    return (node) => {
      const value = node.metadata.labels?.[key];
      if (value === undefined) return final(`${SPREAD} (missing required label)`);
      const skew = (counts.get(value) ?? 0) + self - least;
      return skew > maxSkew ? crowded(SPREAD) : undefined;
    };
  }

  *#matching(matches: (pods: Alike) => boolean): Generator<Counts> {
    for (const { of, nodes } of this.#alike.values()) if (matches(of)) yield nodes;
  }
}

/**
 * Adds a pod on a node to its group, and returns the key of the group. All pods of a group share the string of the key.
 */
function enter<T>(groups: Map<string, Group<T>>, key: string, of: T, node: string): string {
  const group = groups.get(key) ?? { key, of, nodes: new Map<string, number>() };
  groups.set(group.key, group);
  count(group.nodes, node, 1);
  return group.key;
}

function leave<T>(groups: Map<string, Group<T>>, key: string, node: string): void {
  const group = groups.get(key);
  if (group === undefined) return;
  count(group.nodes, node, -1);
  if (group.nodes.size === 0) groups.delete(key);
}

const refuseIn =
  (taken: Counts, term: Plain, why: string): NeighbourCheck =>
  (node) =>
    taken.has(node.metadata.labels?.[text(term, 'topologyKey')] ?? '') ? crowded(why) : undefined;
