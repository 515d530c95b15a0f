import type { AdmissionAttributes } from '../registry/admission.ts';
import type { KindRegistry, ServedKind } from '../registry/kind-registry.ts';
import { type LabelSelector, selectorOf } from '../registry/label-selector.ts';
import type { Registry } from '../registry/registry.ts';

/** `RuleWithOperations` of webhooks and policies. */
export interface MatchRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly scope?: string;
}

type SelectorObject = Parameters<typeof selectorOf>[0];

const ANY = '*';

const has = (list: readonly string[] = [], value: string): boolean => list.includes(ANY) || list.includes(value);

/** Patterns are `pods` or `pods/status`, where `*` may stand for either part. Without a slash no subresource is meant. */
function coversResource(patterns: readonly string[] = [], plural: string, subresource: string): boolean {
  return patterns.some((pattern) => {
    const [resource, part = ''] = pattern.split('/');
    return (resource === ANY || resource === plural) && (part === ANY || part === subresource);
  });
}

/** Whether a rule is about this operation on this kind. Names are looked at apart. */
export function ruleMatches(
  rule: MatchRule,
  { kind }: ServedKind,
  subresource: string,
  operation: AdmissionAttributes['operation'],
): boolean {
  const { scope = ANY } = rule;
  return (
    has(rule.operations, operation) &&
    has(rule.apiGroups, kind.group) &&
    has(rule.apiVersions, kind.version) &&
    coversResource(rule.resources, kind.plural, subresource) &&
    (scope === ANY || (scope === 'Namespaced') === kind.namespaced)
  );
}

export const nameMatches = ({ resourceNames = [] }: MatchRule, name: string): boolean =>
  resourceNames.length === 0 || resourceNames.includes(name);

/** The other versions of a resource, in which a rule with match policy `Equivalent` may name it. */
export const equivalents = (kinds: KindRegistry, served: ServedKind): ServedKind[] =>
  kinds
    .all()
    .filter(
      (other) => other !== served && other.kind.group === served.kind.group && other.kind.plural === served.kind.plural,
    );

/** A selector that everything passes is left out. */
export function compileSelector(selector: SelectorObject): LabelSelector | undefined {
  if (selector === undefined || selector === null) return undefined;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0 ? undefined : selectorOf(selector);
}

const NAMESPACES = '/namespaces';

/** Whether the namespace of an object passes a selector. Namespaces are judged by themselves; other cluster-scoped objects pass. */
export function namespacePasses(
  selector: LabelSelector | undefined,
  { store }: Registry,
  { served, namespace, object, old }: AdmissionAttributes,
): boolean {
  if (selector === undefined) return true;
  if (served.resource === NAMESPACES) return selector((object ?? old)?.metadata.labels ?? {});
  if (!served.kind.namespaced) return true;
  return selector(store.get(NAMESPACES, '', namespace)?.labels ?? {});
}

/** Whether the new or the old object passes a selector. */
export const objectPasses = (
  selector: LabelSelector | undefined,
  { object, old }: Pick<AdmissionAttributes, 'object' | 'old'>,
): boolean =>
  selector === undefined || [object, old].some((one) => one !== undefined && selector(one.metadata.labels ?? {}));

/** What is never asked about: who guards may not be locked out by the guards themselves. */
export const isExempt = ({ kind }: ServedKind): boolean => kind.group === 'admissionregistration.k8s.io';
