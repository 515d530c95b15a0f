import type { UserInfo } from '../../apimachinery/users/user.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { Registry } from '../../resources/registry.ts';
import { type AccessOracle, AuthorizerValue, resourceCheck } from '../../schema/cel/lib/authorization.ts';
import type { Scope } from './expression.ts';

const serviceAccount = (namespace: string, name: string): UserInfo => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
});

const oracleOf = (authorize: Registry['authorize'], user: UserInfo): AccessOracle => ({
  ask: (question) => authorize({ ...question, user }),
  as: (namespace, name) => oracleOf(authorize, serviceAccount(namespace, name)),
});

export function authorizerScope(
  registry: Registry,
  { user, namespace, name, subresource }: AdmissionAttributes,
  { kind }: ServedKind,
): Pick<Scope, 'authorizer' | 'authorizer.requestResource'> {
  const oracle = oracleOf(registry.authorize, user);
  const { group, plural: resource } = kind;
  return {
    authorizer: () => new AuthorizerValue(oracle),
    'authorizer.requestResource': () => resourceCheck(oracle, { group, resource, subresource, namespace, name }),
  };
}
