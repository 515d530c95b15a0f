import type { Access, Verdict } from '../../apimachinery/users/authorizer.ts';
import type { UserInfo } from '../../apimachinery/users/user.ts';
import type { BindingIndex, Grant } from './bindings.ts';
import { type PolicyRule, ruleAllows } from './rules.ts';
import { showSubject } from './subjects.ts';

/** Formats a reason such as `RBAC: allowed by RoleBinding "r/default" of Role "r" to ServiceAccount "bot/default"`. */
function allowedBy({ binding, subject }: Grant): string {
  const { kind, namespace, name, role } = binding;
  const place = namespace === '' ? name : `${name}/${namespace}`;
  return `RBAC: allowed by ${kind} ${JSON.stringify(place)} of ${role.kind} ${JSON.stringify(role.name)} to ${showSubject(subject, namespace)}`;
}

const missingRole = ({ binding: { role } }: Grant): string =>
  `${role.kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(role.name)} not found`;

/** Joins several errors to one line, like an aggregate error of Go. */
export function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}

export interface OwnedRules {
  readonly rules: readonly PolicyRule[];
  readonly errors: readonly string[];
}

export class RbacAuthorizer {
  readonly #index: BindingIndex;

  constructor(index: BindingIndex) {
    this.#index = index;
  }

  authorize(access: Access): Verdict {
    const errors: string[] = [];
    for (const grant of this.#grants(access.user, access.path === '' ? access.namespace : '')) {
      const rules = this.#index.rules(grant.binding);
      if (rules === undefined) errors.push(missingRole(grant));
      else if (rules.some((rule) => ruleAllows(rule, access))) return { allowed: true, reason: allowedBy(grant) };
    }
    return { allowed: false, reason: errors.length === 0 ? '' : `RBAC: ${joinErrors(errors)}` };
  }

  rulesFor(user: UserInfo, namespace: string): OwnedRules {
    const rules: PolicyRule[] = [];
    const errors: string[] = [];
    for (const grant of this.#grants(user, namespace)) {
      const found = this.#index.rules(grant.binding);
      if (found === undefined) errors.push(missingRole(grant));
      else rules.push(...found);
    }
    return { rules, errors };
  }

  rulesOfRole(role: { kind: string; name: string }, namespace: string): readonly PolicyRule[] | undefined {
    return this.#index.rules({ role, namespace });
  }

  *#grants(user: UserInfo, namespace: string): Generator<Grant> {
    yield* this.#index.grants(user, '');
    if (namespace !== '') yield* this.#index.grants(user, namespace);
  }
}
