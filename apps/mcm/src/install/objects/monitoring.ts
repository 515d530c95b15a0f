import { ALERTS } from '../chart/alerts.ts';
import { APP, type InstallSettings, LABELS, SELECTOR, shared } from './settings.ts';

const GROUP = 'monitoring.coreos.com/v1';
const CONFIG_APP = 'machine-config-controller';

const endpointOf = (port: string) => ({
  port,
  scheme: 'https',
  bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
  // The certificate changes at each start. The token authenticates the request.
  tlsConfig: { insecureSkipVerify: true },
});

/** A role for the ServiceAccounts that scrape. */
export const metricsReader = ({ namespace }: InstallSettings): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: shared(`${APP}-metrics`, namespace), labels: LABELS },
  rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
});

/** Objects of the Prometheus operator, for clusters that have it. */
export const monitoring = ({ namespace }: InstallSettings): readonly object[] => [
  {
    apiVersion: GROUP,
    kind: 'ServiceMonitor',
    metadata: { name: APP, namespace, labels: LABELS },
    spec: {
      selector: { matchLabels: SELECTOR },
      endpoints: ['manager-tls', 'controller-tls'].map(endpointOf),
    },
  },
  {
    apiVersion: GROUP,
    kind: 'ServiceMonitor',
    metadata: { name: CONFIG_APP, namespace, labels: LABELS },
    spec: {
      selector: { matchLabels: { 'app.kubernetes.io/name': CONFIG_APP } },
      endpoints: [endpointOf('metrics-tls')],
    },
  },
  {
    apiVersion: GROUP,
    kind: 'PrometheusRule',
    metadata: { name: APP, namespace, labels: LABELS },
    spec: { groups: [{ name: APP, rules: ALERTS }] },
  },
];
