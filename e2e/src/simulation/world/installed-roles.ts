import { DEFAULT_INSTALL, installSections } from '@mcm/cli';
import type { KubeClient, Transport } from '@mcm/kube';

/** The namespace of an installation as `mcm install` makes it. */
const { namespace } = DEFAULT_INSTALL;
const USER = `system:serviceaccount:${namespace}:machine-controller-manager`;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

interface RbacObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const isRbac = (object: object): object is RbacObject =>
  'kind' in object && /^(Cluster)?Role(Binding)?$/.test(String(object.kind));

/** Roles and bindings of both controllers, as they are installed. */
const ROLES = installSections(DEFAULT_INSTALL)
  .filter(({ name }) => name === 'rbac' || name === 'target-rbac')
  .flatMap(({ objects }) => objects)
  .filter(isRbac);

/** Creates the roles of the installation. */
export async function makeRoles(admin: KubeClient): Promise<void> {
  await Promise.all(
    ROLES.map((object) => {
      const within = object.metadata.namespace === undefined ? '' : `/namespaces/${object.metadata.namespace}`;
      return admin.request('POST', `${RBAC}${within}/${object.kind.toLowerCase()}s`, { body: object });
    }),
  );
}

/** Sends requests as the ServiceAccount of the installation, so that the server's RBAC applies to the controller. */
export const asInstalled = (transport: Transport): Transport =>
  async function ask(request) {
    return transport({ ...request, headers: { ...request.headers, 'impersonate-user': USER } });
  };
