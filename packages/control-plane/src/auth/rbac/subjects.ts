import type { UserInfo } from '../../apimachinery/users/user.ts';

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';

/** Returns the index key of a subject. */
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

export function* keysOf(user: UserInfo): Generator<string> {
  yield `u:${user.name}`;
  for (const group of user.groups) yield `g:${group}`;
}

/** Formats a subject for the reason of a decision: `ServiceAccount "bot/default"`. */
export function showSubject({ kind, name, namespace = '' }: Subject, bindingNamespace: string): string {
  if (kind !== 'ServiceAccount') return `${kind} ${JSON.stringify(name)}`;
  return `${kind} ${JSON.stringify(`${name}/${namespace === '' ? bindingNamespace : namespace}`)}`;
}
