import { DEFAULT_INSTALL, installSections, separated } from '@mcm/cli';
import type { KubeClient, Transport } from '@mcm/kube';

const { namespace } = DEFAULT_INSTALL;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

interface RbacObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const isRbac = (object: object): object is RbacObject =>
  'kind' in object && /^(Cluster)?Role(Binding)?$/.test(String(object.kind));

const SHARED = ['rbac', 'target-rbac'];
const SEPARATE = [...SHARED, 'separate-controller'];

const rolesOf = (isSeparate: boolean): readonly RbacObject[] =>
  installSections(isSeparate ? separated(DEFAULT_INSTALL) : DEFAULT_INSTALL)
    .filter(({ name }) => (isSeparate ? SEPARATE : SHARED).includes(name))
    .flatMap(({ objects }) => objects)
    .filter(isRbac);
const ROLES = { shared: rolesOf(false), separate: rolesOf(true) } as const;

export async function makeRoles(admin: KubeClient, isSeparate = false): Promise<void> {
  await Promise.all(
    ROLES[isSeparate ? 'separate' : 'shared'].map((object) => {
      const within = object.metadata.namespace === undefined ? '' : `/namespaces/${object.metadata.namespace}`;
      return admin.request('POST', `${RBAC}${within}/${object.kind.toLowerCase()}s`, { body: object });
    }),
  );
}

export function asInstalled(transport: Transport, account = DEFAULT_INSTALL.accounts.manager): Transport {
  const user = `system:serviceaccount:${namespace}:${account}`;
  return async function ask(request) {
    return transport({ ...request, headers: { ...request.headers, 'impersonate-user': user } });
  };
}

export const accountsOf = (isSeparate: boolean): typeof DEFAULT_INSTALL.accounts =>
  (isSeparate ? separated(DEFAULT_INSTALL) : DEFAULT_INSTALL).accounts;
