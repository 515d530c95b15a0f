import type { ApiServer } from './api-server.ts';

/** Collections that tests fill, by path below the API server; those of namespaces are of `default`. */
const COLLECTIONS = [
  ...['mutatingwebhookconfigurations', 'validatingwebhookconfigurations', 'validatingadmissionpolicies']
    .concat('validatingadmissionpolicybindings')
    .map((plural) => `/apis/admissionregistration.k8s.io/v1/${plural}`),
  ...['machinedeployments', 'machinesets', 'machines', 'machineclasses'].map(
    (plural) => `/apis/machine.sapcloud.io/v1alpha1/namespaces/default/${plural}`,
  ),
  ...['cronjobs', 'jobs'].map((plural) => `/apis/batch/v1/namespaces/default/${plural}`),
  ...['deployments', 'statefulsets', 'daemonsets', 'replicasets'].map(
    (plural) => `/apis/apps/v1/namespaces/default/${plural}`,
  ),
  '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
  '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
  '/apis/coordination.k8s.io/v1/namespaces/default/leases',
  ...['pods', 'services', 'configmaps', 'secrets', 'resourcequotas', 'events'].map(
    (plural) => `/api/v1/namespaces/default/${plural}`,
  ),
  '/api/v1/nodes',
];

/** What every cluster has by itself. */
const KEPT: readonly string[] = ['kubernetes', 'kube-root-ca.crt'];

interface Listed {
  readonly items?: readonly { readonly metadata: { readonly name: string; readonly finalizers?: readonly string[] } }[];
}

const ask = async (fetch: ApiServer['fetch'], path: string, init: RequestInit = {}): Promise<Listed> => {
  const answer = await fetch(new Request(`https://server${path}`, init));
  const text = await answer.text();
  return answer.ok ? JSON.parse(text) : {};
};

/** Throws for a cluster that has nodes: somebody else's work would be deleted with what the tests leave. */
export async function mustBeForTests(fetch: ApiServer['fetch'], file: string): Promise<void> {
  const { items = [] } = await ask(fetch, '/api/v1/nodes');
  if (items.length > 0)
    throw new Error(`the cluster of ${file} has nodes: name one that is there for these tests alone, with none`);
}

/** Deletes all that tests leave, without regard to finalizers: nobody is there to honour them. */
export async function emptied(fetch: ApiServer['fetch']): Promise<void> {
  for (const path of COLLECTIONS) {
    const { items = [] } = await ask(fetch, path);
    for (const { name, finalizers = [] } of items.map(({ metadata }) => metadata)) {
      if (KEPT.includes(name)) continue;
      const headers = { 'content-type': 'application/merge-patch+json' };
      const body = JSON.stringify({ metadata: { finalizers: null } });
      if (finalizers.length > 0) await ask(fetch, `${path}/${name}`, { method: 'PATCH', headers, body });
      await ask(fetch, `${path}/${name}?gracePeriodSeconds=0`, { method: 'DELETE' });
    }
  }
}
