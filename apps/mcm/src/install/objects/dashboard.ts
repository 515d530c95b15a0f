import { type Rule, role } from './roles.ts';
import { type InstallSettings, shared } from './settings.ts';
import { KUBECONFIGS, networkPolicyFor, POD_SECURITY, securedContainer } from './workload.ts';

export const DASHBOARD_APP = 'mcm-dashboard';
const SELECTOR = { 'app.kubernetes.io/name': DASHBOARD_APP } as const;
const LABELS = { ...SELECTOR, 'app.kubernetes.io/part-of': 'mcm' } as const;
const OWNER = { account: DASHBOARD_APP, labels: LABELS };
const PORT = 8443;
const CERTIFICATE = { name: `${DASHBOARD_APP}-tls`, path: '/etc/mcm/dashboard' } as const;
const READ = ['get', 'list', 'watch'];

/** Permissions of the dashboard in the namespace with the machine objects. The dashboard cannot read Secrets. */
const RULES: readonly Rule[] = [
  {
    apiGroups: ['machine.sapcloud.io'],
    resources: ['machinedeployments', 'machinesets', 'machines', 'machineclasses'],
    verbs: READ,
  },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: READ },
  { apiGroups: [''], resources: ['configmaps', 'events'], verbs: READ },
];

/** Permissions to check the tokens of users, in the cluster that issues the tokens. */
const ACCESS_RULES: readonly Rule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

const TARGET_RULES: readonly Rule[] = [
  {
    apiGroups: [''],
    resources: ['nodes', 'pods', 'persistentvolumeclaims', 'persistentvolumes', 'events'],
    verbs: READ,
  },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: READ },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: READ },
  { apiGroups: ['machineconfiguration.openshift.io'], resources: ['machineconfigpools'], verbs: READ },
];

/** Returns the Deployment of the dashboard, which has only one pod, because sessions are stored in memory. */
const deployment = ({ namespace, kubeconfigs, dashboard }: InstallSettings): object => {
  const { readinessProbe, livenessProbe, args, ...container } = securedContainer({
    name: DASHBOARD_APP,
    image: dashboard.image,
    flags: {
      listen: '0.0.0.0',
      port: String(PORT),
      namespace,
      kubeconfig: kubeconfigs.control,
      'target-kubeconfig': kubeconfigs.target,
      ...dashboard.flags,
    },
    ports: { plain: PORT, secure: PORT },
    port: 'https',
    resources: dashboard.resources,
  });
  const probe = { httpGet: { path: '/healthz', port: PORT, scheme: 'HTTPS' }, periodSeconds: 10 };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: DASHBOARD_APP, namespace, labels: LABELS },
    spec: {
      replicas: 1,
      selector: { matchLabels: SELECTOR },
      template: {
        metadata: { labels: LABELS },
        spec: {
          serviceAccountName: DASHBOARD_APP,
          securityContext: POD_SECURITY,
          containers: [
            {
              ...container,
              args: ['dashboard', ...args],
              livenessProbe: { ...probe, failureThreshold: 6 },
              readinessProbe: probe,
              volumeMounts: [
                ...KUBECONFIGS.map(({ mount }) => mount),
                { name: 'certificate', mountPath: CERTIFICATE.path, readOnly: true },
              ],
            },
          ],
          volumes: [
            ...KUBECONFIGS.map(({ volume }) => volume),
            { name: 'certificate', secret: { secretName: CERTIFICATE.name, optional: true, defaultMode: 0o440 } },
          ],
        },
      },
    },
  };
};

/** Returns the role that a user needs for a login. */
const userRole = (namespace: string): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: shared(`${DASHBOARD_APP}-users`, namespace), labels: LABELS },
  rules: [{ nonResourceURLs: ['/dashboard'], verbs: ['get'] }],
});

export const dashboardObjects = (settings: InstallSettings): readonly object[] => {
  const { namespace } = settings;
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: DASHBOARD_APP, namespace, labels: LABELS } },
    ...role('Role', DASHBOARD_APP, namespace, RULES, namespace, OWNER),
    ...role('ClusterRole', shared(`${DASHBOARD_APP}-logins`, namespace), undefined, ACCESS_RULES, namespace, OWNER),
    userRole(namespace),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: DASHBOARD_APP, namespace, labels: LABELS },
      spec: { selector: SELECTOR, ports: [{ name: 'https', port: 443, targetPort: PORT }] },
    },
    deployment(settings),
    networkPolicyFor(DASHBOARD_APP, [PORT], settings, { selector: SELECTOR, labels: LABELS }),
  ];
};

export const dashboardTargetRoles = ({ namespace }: InstallSettings): readonly object[] =>
  role('ClusterRole', shared(`${DASHBOARD_APP}-target`, namespace), undefined, TARGET_RULES, namespace, OWNER);
