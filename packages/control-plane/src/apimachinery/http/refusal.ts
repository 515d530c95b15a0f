import { defined } from '../objects/plain.ts';
import { StatusError } from '../objects/status.ts';
import type { Access } from '../users/authorizer.ts';

export function refusal(access: Access, reason: string): StatusError {
  const { user, verb, path, group, resource, subresource, namespace, name } = access;
  const because = reason === '' ? '' : `: ${reason}`;
  if (path !== '') {
    return new StatusError({
      message: `forbidden: User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}${because}`,
      reason: 'Forbidden',
      details: {},
      code: 403,
    });
  }
  const qualified = group === '' ? resource : `${resource}.${group}`;
  const part = subresource === '' ? resource : `${resource}/${subresource}`;
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  return new StatusError({
    message: `${qualified}${name === '' ? '' : ` ${JSON.stringify(name)}`} is forbidden: User ${JSON.stringify(user.name)} cannot ${verb} resource ${JSON.stringify(part)} in API group ${JSON.stringify(group)} ${scope}${because}`,
    reason: 'Forbidden',
    details: defined({ name: name || undefined, group: group || undefined, kind: resource }),
    code: 403,
  });
}
