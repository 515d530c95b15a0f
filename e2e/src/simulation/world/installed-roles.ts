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

/** Returns the roles and bindings that `mcm install` creates for both controllers. */
const rolesOf = (isSeparate: boolean): readonly RbacObject[] =>
  installSections(isSeparate ? separated(DEFAULT_INSTALL) : DEFAULT_INSTALL)
    .filter(({ name }) => (isSeparate ? SEPARATE : SHARED).includes(name))
    .flatMap(({ objects }) => objects)
    .filter(isRbac);
const ROLES = { shared: rolesOf(false), separate: rolesOf(true) } as const;

/**
 * Creates the roles of an installation in the API server.
 * @param isSeparate whether the machine controller has its own ServiceAccount
 */
export async function makeRoles(admin: KubeClient, isSeparate = false): Promise<void> {
  await Promise.all(
    ROLES[isSeparate ? 'separate' : 'shared'].map((object) => {
      const within = object.metadata.namespace === undefined ? '' : `/namespaces/${object.metadata.namespace}`;
      return admin.request('POST', `${RBAC}${within}/${object.kind.toLowerCase()}s`, { body: object });
    }),
  );
}

/** Sends requests as a ServiceAccount of the installation, which has only the installed roles. */
export function asInstalled(transport: Transport, account = DEFAULT_INSTALL.accounts.manager): Transport {
  const user = `system:serviceaccount:${namespace}:${account}`;
  return async function ask(request) {
    return transport({ ...request, headers: { ...request.headers, 'impersonate-user': user } });
  };
}

export const accountsOf = (isSeparate: boolean): typeof DEFAULT_INSTALL.accounts =>
  (isSeparate ? separated(DEFAULT_INSTALL) : DEFAULT_INSTALL).accounts;
