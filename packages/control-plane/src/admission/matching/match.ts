import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { KindRegistry, ServedKind } from '../../resources/kind-registry.ts';
import type { Registry } from '../../resources/registry.ts';
import { type LabelSelector, selectorOf } from '../../selectors/label-selector.ts';

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

/**
 * A pattern has the form `pods` or `pods/status`, and each part may be `*`. A pattern without a slash matches no
 * subresource.
 */
function coversResource(patterns: readonly string[] = [], plural: string, subresource: string): boolean {
  return patterns.some((pattern) => {
    const [resource, part = ''] = pattern.split('/');
    return (resource === ANY || resource === plural) && (part === ANY || part === subresource);
  });
}

/** Compares the rule of a webhook or policy with a request. */
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

/** The rules of a webhook or policy select a version of a resource. The function returns this version. */
export function versionNamed(
  kinds: KindRegistry,
  rules: readonly MatchRule[],
  exact: boolean,
  { served, subresource, operation }: Pick<AdmissionAttributes, 'served' | 'subresource' | 'operation'>,
): ServedKind | undefined {
  const names = (kind: ServedKind) => rules.some((rule) => ruleMatches(rule, kind, subresource, operation));
  if (names(served)) return served;
  if (exact) return undefined;
  const { group, plural } = served.kind;
  return kinds.versionsOf(group, plural).find((other) => other !== served && names(other));
}

export function compileSelector(selector: SelectorObject): LabelSelector | undefined {
  if (selector === undefined || selector === null) return undefined;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0 ? undefined : selectorOf(selector);
}

const NAMESPACES = '/namespaces';

/**
 * Returns the labels with which the server compares namespace selectors. For a request about a Namespace, the result
 * contains the labels of the Namespace itself.
 */
export function namespaceLabelsOf(
  { store }: Registry,
  { served, namespace, object, old }: AdmissionAttributes,
): Readonly<Record<string, string>> | 'none' {
  if (served.resource === NAMESPACES) return (object ?? old)?.metadata.labels ?? {};
  if (!served.kind.namespaced) return 'none';
  return store.get(NAMESPACES, '', namespace)?.labels ?? {};
}

/** Namespace selectors match every object without a namespace. */
export function namespacePasses(
  selector: LabelSelector | undefined,
  registry: Registry,
  attributes: AdmissionAttributes,
): boolean {
  if (selector === undefined) return true;
  const labels = namespaceLabelsOf(registry, attributes);
  return labels === 'none' || selector(labels);
}

export const objectPasses = (
  selector: LabelSelector | undefined,
  { object, old }: Pick<AdmissionAttributes, 'object' | 'old'>,
): boolean =>
  selector === undefined || [object, old].some((one) => one !== undefined && selector(one.metadata.labels ?? {}));

/**
 * The configurations of webhooks and policies are exempt from admission, so users can always repair a wrong
 * configuration.
 */
export const isExempt = ({ kind }: ServedKind): boolean => kind.group === 'admissionregistration.k8s.io';

const REVIEW_GROUPS: ReadonlySet<string> = new Set(['authentication.k8s.io', 'authorization.k8s.io']);

/** Reviews are exempt from policies, because a wrong policy for reviews could break the whole cluster. */
export const isExemptFromPolicies = (served: ServedKind): boolean =>
  isExempt(served) || REVIEW_GROUPS.has(served.kind.group);
