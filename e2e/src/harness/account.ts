import { applyObjects, DEFAULT_INSTALL, installSections } from '@mcm/cli';
import type { KubeClient } from '@mcm/kube';
import { parse, stringify } from 'yaml';

const ACCOUNT = 'machine-controller-manager';

/** @returns a copy of the administrator's kubeconfig with a token of the ServiceAccount */
export async function installedAccount(client: KubeClient, namespace: string, administrator: string): Promise<string> {
  const objects = installSections({ ...DEFAULT_INSTALL, namespace })
    .filter(({ name }) => ['rbac', 'target-rbac', 'webhooks'].includes(name))
    .flatMap((section) => section.objects)
    .filter((object) => 'kind' in object && /Role|ServiceAccount/.test(String(object.kind)));
  await applyObjects(client, objects, { force: false, signal: new AbortController().signal });
  const { status } = await client.request<{ readonly status: { readonly token: string } }>(
    'POST',
    `/api/v1/namespaces/${namespace}/serviceaccounts/${ACCOUNT}/token`,
    { body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} } },
  );
  const { users, ...rest } = parse(administrator) as { readonly users: readonly { readonly name: string }[] };
  return stringify({ ...rest, users: users.map(({ name }) => ({ name, user: { token: status.token } })) });
}
