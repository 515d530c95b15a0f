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
  // The certificate is self-signed and changes at each start, so Prometheus cannot verify it. Prometheus authenticates
  // itself with a token.
  tlsConfig: { insecureSkipVerify: true },
});

/**
 * Returns the endpoint of a PodMonitor. PodMonitors have no field for a token file. The chart adds `authorization` with
 * a Secret that contains a token.
 */
const podEndpointOf = (port: string) => ({ port, scheme: 'https', tlsConfig: { insecureSkipVerify: true } });

/** Returns a role for the ServiceAccounts that read metrics. */
export const metricsReader = (settings: InstallSettings): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: shared(`${settings.name}-metrics`, settings.namespace), labels: labelsOf(settings) },
  rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
});

/** Returns the Grafana dashboards, and objects for clusters with the Prometheus operator. */
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
      // The sidecar of the Grafana chart loads ConfigMaps with the label.
      metadata: { name: `${name}-dashboards`, namespace, labels: { ...labels, grafana_dashboard: '1' } },
      data: Object.fromEntries([...grafanaFiles()].map(([file, text]) => [`mcm-${file}`, text])),
    },
  ];
}

/** PodMonitors are an alternative to ServiceMonitors, for clusters whose Prometheus selects only PodMonitors. */
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
