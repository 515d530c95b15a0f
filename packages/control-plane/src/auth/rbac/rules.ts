export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface Attributes {
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}

const ANY = '*';

const has = (list: readonly string[] | undefined, value: string): boolean =>
  list !== undefined && (list.includes(value) || list.includes(ANY));

function coversResource(resources: readonly string[], resource: string, subresource: string): boolean {
  if (resources.includes(ANY)) return true;
  if (subresource === '') return resources.includes(resource);
  return resources.includes(`${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

const coversPath = (urls: readonly string[], path: string): boolean =>
  urls.some((url) => url === ANY || url === path || (url.endsWith(ANY) && path.startsWith(url.slice(0, -1))));

/** Returns whether a rule allows an access. A rule with an empty list of names allows all names. */
export function ruleAllows(rule: PolicyRule, wanted: Attributes): boolean {
  if (!has(rule.verbs, wanted.verb)) return false;
  if (wanted.path !== '') return coversPath(rule.nonResourceURLs ?? [], wanted.path);
  if (!has(rule.apiGroups, wanted.group)) return false;
  if (!coversResource(rule.resources ?? [], wanted.resource, wanted.subresource)) return false;
  const { resourceNames = [] } = rule;
  return resourceNames.length === 0 || resourceNames.includes(wanted.name);
}

/** Splits a rule into rules with only one verb, one group, one resource and one name. */
export function* breakDown(rule: PolicyRule): Generator<PolicyRule> {
  for (const verb of rule.verbs) {
    for (const url of rule.nonResourceURLs ?? []) yield { verbs: [verb], nonResourceURLs: [url] };
    for (const group of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        const one = { verbs: [verb], apiGroups: [group], resources: [resource] };
        const { resourceNames = [] } = rule;
        if (resourceNames.length === 0) yield one;
        for (const name of resourceNames) yield { ...one, resourceNames: [name] };
      }
    }
  }
}

/**
 * Returns whether at least one rule in `owned` covers the rule `part`. The rule `part` must come from {@link
 * breakDown}.
 */
export const isCovered = (owned: readonly PolicyRule[], part: PolicyRule): boolean =>
  owned.some((rule) => {
    if (!part.verbs.every((verb) => has(rule.verbs, verb))) return false;
    const [url] = part.nonResourceURLs ?? [];
    if (url !== undefined) return coversPath(rule.nonResourceURLs ?? [], url);
    const [group = ''] = part.apiGroups ?? [];
    const [full = ''] = part.resources ?? [];
    const slash = full.indexOf('/');
    const [resource, subresource] = slash < 0 ? [full, ''] : [full.slice(0, slash), full.slice(slash + 1)];
    if (!has(rule.apiGroups, group) || !coversResource(rule.resources ?? [], resource, subresource)) return false;
    const { resourceNames = [] } = rule;
    const [name] = part.resourceNames ?? [];
    return resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name));
  });
