import type { UserInfo } from '../../apimachinery/users/user.ts';

/** Whom a binding is for. */
export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';

/** The word under which a subject is looked up; undefined for kinds that RBAC does not know. */
export function subjectKey({ kind, name, namespace = '' }: Subject, bindingNamespace: string): string | undefined {
  switch (kind) {
    case 'User':
      return `u:${name}`;
    case 'Group':
      return `g:${name}`;
    case 'ServiceAccount': {
      const home = namespace === '' ? bindingNamespace : namespace;
      return home === '' ? undefined : `u:${SERVICE_ACCOUNT_PREFIX}${home}:${name}`;
    }
    default:
      return undefined;
  }
}

/** The words of a user: the name and every group. */
export function* keysOf(user: UserInfo): Generator<string> {
  yield `u:${user.name}`;
  for (const group of user.groups) yield `g:${group}`;
}

/** `ServiceAccount "bot/default"`, as the reason of a decision has it. */
export function showSubject({ kind, name, namespace = '' }: Subject, bindingNamespace: string): string {
  if (kind !== 'ServiceAccount') return `${kind} ${JSON.stringify(name)}`;
  return `${kind} ${JSON.stringify(`${name}/${namespace === '' ? bindingNamespace : namespace}`)}`;
}
