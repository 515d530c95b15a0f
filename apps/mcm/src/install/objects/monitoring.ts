import { grafanaFiles } from '../grafana/files.ts';
import { alertsWithLinks } from './alerts.ts';
import { CONFIG_APP, CONFIG_METRICS_PORT, CONFIG_SELECTOR } from './machine-config.ts';
import { CONTROLLER_APP, FLEET_APP, type InstallSettings, labelsOf, selectorOf, shared } from './settings.ts';

const GROUP = 'monitoring.coreos.com/v1';

/** Returns true for a monitor of the machine-config-controller, which is an optional program. */
export const isConfigMonitor = (object: object): boolean => {
  const { apiVersion, metadata } = object as {
    readonly apiVersion: string;
    readonly metadata: { readonly name: string };
  };
  return apiVersion === GROUP && metadata.name === CONFIG_APP;
};

const PORTS = ['manager-tls', 'controller-tls'];

const endpointOf = (port: string) => ({
  port,
  scheme: 'https',
  bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
  // Prometheus cannot verify the certificate of the program, because the certificate is self-signed and changes at each
  // start. The program verifies the token of Prometheus.
  tlsConfig: { insecureSkipVerify: true },
});

/**
 * Returns the endpoint of a PodMonitor. A PodMonitor cannot name a file with a token. The chart adds `authorization`
 * with a Secret to a PodMonitor.
 */
const podEndpointOf = (port: string) => ({ port, scheme: 'https', tlsConfig: { insecureSkipVerify: true } });

/** Returns the role for ServiceAccounts that read metrics, such as Prometheus. */
export const metricsReader = (settings: InstallSettings): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: shared(`${settings.name}-metrics`, settings.namespace), labels: labelsOf(settings) },
  rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
});

/** Returns the Grafana dashboards, and the objects for the Prometheus operator. */
export function monitoring(settings: InstallSettings): readonly object[] {
  const { name, namespace } = settings;
  const labels = labelsOf(settings);
  return [
    {
      apiVersion: GROUP,
      kind: 'ServiceMonitor',
      metadata: { name, namespace, labels },
      spec: { selector: { matchLabels: selectorOf(settings) }, endpoints: PORTS.map(endpointOf) },
    },
    {
      apiVersion: GROUP,
      kind: 'ServiceMonitor',
      metadata: { name: CONFIG_APP, namespace, labels },
      spec: { selector: { matchLabels: CONFIG_SELECTOR }, endpoints: [endpointOf(CONFIG_METRICS_PORT)] },
    },
    {
      apiVersion: GROUP,
      kind: 'PrometheusRule',
      metadata: { name, namespace, labels },
      spec: { groups: [{ name, rules: alertsWithLinks(settings.runbookBaseUrl) }] },
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `${name}-dashboards`, namespace, labels: { ...labels, grafana_dashboard: '1' } },
      data: Object.fromEntries([...grafanaFiles()].map(([file, text]) => [`mcm-${file}`, text])),
    },
  ];
}

/** Returns PodMonitors, for clusters in which Prometheus ignores ServiceMonitors. */
export function podMonitors(settings: InstallSettings): readonly object[] {
  const { name, namespace } = settings;
  const labels = labelsOf(settings);
  const monitor = (of: string, matchLabels: Readonly<Record<string, string>>, ports: readonly string[]) => ({
    apiVersion: GROUP,
    kind: 'PodMonitor',
    metadata: { name: of, namespace, labels },
    spec: { selector: { matchLabels }, podMetricsEndpoints: ports.map(podEndpointOf) },
  });
  return [
    monitor(name, selectorOf(settings), PORTS),
    monitor(CONTROLLER_APP, selectorOf({ app: CONTROLLER_APP }), ['controller-tls']),
    monitor(FLEET_APP, selectorOf({ app: FLEET_APP }), PORTS),
    monitor(CONFIG_APP, CONFIG_SELECTOR, [CONFIG_METRICS_PORT]),
  ];
}
