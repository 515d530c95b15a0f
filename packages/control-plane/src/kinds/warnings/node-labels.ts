import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';

const DEPRECATED: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
};

export const deprecatedLabel = (key: string): string | undefined =>
  Object.hasOwn(DEPRECATED, key) ? DEPRECATED[key] : undefined;

export function namedLabel(at: string, key: string): string[] {
  const why = deprecatedLabel(key);
  return why === undefined ? [] : [`${at}: ${key} is ${why}`];
}

export const termWarnings = (term: unknown, at: string): string[] =>
  items(term, 'matchExpressions').flatMap((expression, index) =>
    namedLabel(`${at}.matchExpressions[${index}].key`, text(expression, 'key')),
  );

export const nodeSelectorWarnings = (selector: unknown, at: string): string[] =>
  items(selector, 'nodeSelectorTerms').flatMap((term, index) =>
    termWarnings(term, `${at}.nodeSelectorTerms[${index}]`),
  );

export const labelMapWarnings = (spec: Plain, at: (key: string) => string): string[] =>
  Object.keys(look(spec, 'nodeSelector')).flatMap((key) => {
    const why = deprecatedLabel(key);
    return why === undefined ? [] : [`${at(key)}: ${why}`];
  });
