import { DAEMON_APP } from '../objects/config-daemon.ts';
import { DASHBOARD_APP } from '../objects/dashboard.ts';
import { CONFIG_APP } from '../objects/machine-config.ts';
import { CONTROLLER_APP, FLEET_APP } from '../objects/settings.ts';
import { METADATA_EGRESS } from '../objects/workload.ts';

/** This module marks the places in the objects at which the chart inserts its values. */

const FIELD = '__field__';
const SCALAR = '__scalar__';
const MORE = '__more__';
const LABELS = '__labels__';
const KEEP = '__keep__';
export const WHEN = '__when__';

/**
 * Returns the marker for a field `key` whose content is a value of the chart. If the value for the field is empty, the
 * chart omits the field.
 */
const field = (key: string, value: string): Readonly<Record<string, string>> => ({ [`${FIELD}${key}`]: value });
/**
 * Returns the marker for a field `key` whose text is a value of the chart. If the text for the field is empty, the
 * chart omits the field.
 */
const scalar = (key: string, value: string): Readonly<Record<string, string>> => ({ [`${SCALAR}${key}`]: value });
const entries = (value: string): Readonly<Record<string, string>> => ({ [MORE]: value });
const items = (value: string): readonly object[] => [{ [MORE]: value }];

const itemIf = (condition: string, item: object): object => ({ __if__: condition, ...item });

const IS_SEPARATE = '.Values.separateController.enabled';
/** Adds a condition to the last item of a list, because only pods with the machine controller need this item. */
const lastIfShared = (list: readonly object[]): readonly object[] =>
  list.map((item, index) => (index > 0 && index === list.length - 1 ? itemIf(`not ${IS_SEPARATE}`, item) : item));

const IFS = /^( *)- __if__: (.*)\n\1 {2}((?:.*\n)(?:\1 {2}.*\n)*)/gm;
const SCALARS = /^( *)__scalar__(\w+): ([\w.]+)$/gm;
const FIELDS = /^( *)(- )?__field__(\w+): ([\w.]+)$/gm;
const MORES = /^( *)(?:- )?__more__: ([\w.]+)$/gm;
const LABEL_LINES = /^( *)__labels__: true$/gm;
const KEEP_LINES = /^( *)__keep__: true$/gm;
const RUNBOOKS = /^( *)runbook: (\S+)$/gm;
const FILES = /^( *)(\S+): __file__(\S+)$/gm;
const SPREADS = /^( *)topologySpreadConstraints:\n(?:\1 .*\n)+/gm;
/**
 * Matches the marker for a list of flags. Numbers need `toJson`, because `%v` formats large numbers with an exponent.
 */
const FLAGS = /^( *)- --__flags__=(\w+)$/gm;
const HOOKS = /^( *)- (?:--)?__hooks__(?:: |=)(\w+)$/gm;
const CACHE_LIMIT = /^( *)- --__cacheLimit__=$/gm;
const FLEET_SOURCE = /^( *)(- --fleet-namespaces=.*)$/gm;
const FLEET_SOURCE_LINES = [
  '$1{{- if .Values.fleet.clusters }}',
  '$1- {{ printf "--fleet-clusters=%s" .Values.fleet.clusters | quote }}',
  '$1{{- else if .Values.fleet.clusterProfiles }}',
  '$1- {{ printf "--fleet-cluster-profiles=%s" .Values.fleet.clusterProfiles | quote }}',
  '$1{{- else }}',
  '$1$2',
  '$1{{- end }}',
].join('\n');
const WEBHOOK_FLAGS = /(?:^ *- --webhook-\S+=.*\n)+/gm;

const SECRET = '.Values.hookWebhooks.secret';
const HOOKS_FOLDER = '/etc/mcm/hooks';
const HOOK_LINES: Readonly<Record<string, { readonly condition: string; readonly lines: readonly string[] }>> = {
  flag: { condition: SECRET, lines: [`- --hook-webhooks=${HOOKS_FOLDER}/webhooks.json`] },
  mount: { condition: SECRET, lines: ['- name: hooks', `  mountPath: ${HOOKS_FOLDER}`, '  readOnly: true'] },
  ...Object.fromEntries(
    [
      ['volume', SECRET],
      // If the machine controller runs in separate pods, the pods of the manager do not need the Secret.
      ['sharedVolume', `and ${SECRET} (not ${IS_SEPARATE})`],
    ].map(([kind = '', condition = '']) => [
      kind,
      {
        condition,
        lines: ['- name: hooks', '  secret:', `    secretName: {{ ${SECRET} | quote }}`, '    defaultMode: 288'],
      },
    ]),
  ),
};

const hookLines = (indent: string, kind: string): string => {
  const { condition = '', lines = [] } = HOOK_LINES[kind] ?? {};
  return [`{{- if ${condition} }}`, ...lines, '{{- end }}'].map((line) => indent + line).join('\n');
};

/** Replaces the markers in a template of the chart. */
export const filledIn = (text: string): string =>
  text
    .replaceAll(HOOKS, (_, indent: string, kind: string) => hookLines(indent, kind))
    .replaceAll(FLAGS, (_, indent: string, container: string) =>
      [
        `${indent}{{- range $name, $value := .Values.flags.${container} }}`,
        `${indent}- {{ printf "--%s=%s" $name (ternary $value (toJson $value) (kindIs "string" $value)) | quote }}`,
        `${indent}{{- end }}`,
      ].join('\n'),
    )
    .replaceAll(
      CACHE_LIMIT,
      [
        '$1{{- if .Values.fleet.cacheLimit }}',
        '$1- --fleet-cache-limit={{ int .Values.fleet.cacheLimit }}',
        '$1{{- end }}',
      ].join('\n'),
    )
    .replaceAll(FLEET_SOURCE, FLEET_SOURCE_LINES)
    .replaceAll(LABEL_LINES, (_, indent: string) => `${indent}{{- include "mcm.labels" . | nindent ${indent.length} }}`)
    .replaceAll(KEEP_LINES, '$1{{- if .Values.crds.keep }}\n$1helm.sh/resource-policy: keep\n$1{{- end }}')
    .replaceAll(RUNBOOKS, (line, indent: string, path: string) =>
      [
        line,
        `${indent}{{- with $.Values.monitoring.runbookBaseUrl }}`,
        `${indent}runbook_url: {{ printf "%s/${path}" (trimSuffix "/" .) | quote }}`,
        `${indent}{{- end }}`,
      ].join('\n'),
    )
    .replaceAll(
      FILES,
      (_, indent: string, key: string, file: string) =>
        `${indent}${key}: |-\n{{ .Files.Get "${file}" | indent ${indent.length + 2} }}`,
    )
    .replaceAll(SPREADS, (text, indent: string) =>
      [
        `${indent}{{- with .Values.pod.topologySpread }}`,
        `${indent}topologySpreadConstraints:`,
        `${indent}  {{- range . }}`,
        `${indent}  - {{- toYaml . | nindent ${indent.length + 4} }}`,
        `${indent}    labelSelector:`,
        `${indent}      matchLabels:`,
        `${indent}        app.kubernetes.io/name: ${text.includes('include') ? '{{ include "mcm.name" $ | quote }}' : /[\w-]+$/.exec(text.trim())?.[0]}`,
        `${indent}  {{- end }}`,
        `${indent}{{- end }}\n`,
      ].join('\n'),
    )
    .replaceAll(
      WEBHOOK_FLAGS,
      (flags) => `            {{- if .Values.webhooks.enabled }}\n${flags}            {{- end }}\n`,
    )
    .replaceAll(
      IFS,
      (_, indent: string, condition: string, item: string) =>
        `${indent}{{- if ${condition} }}\n${indent}- ${item}${indent}{{- end }}\n`,
    )
    .replaceAll(FIELDS, (_, indent: string, _item: string | undefined, key: string, value: string) =>
      [
        `${indent}{{- with .Values.${value} }}`,
        `${indent}${key}:`,
        `${indent}  {{- toYaml . | nindent ${indent.length + 2} }}`,
        `${indent}{{- end }}`,
      ].join('\n'),
    )
    .replaceAll(SCALARS, (_, indent: string, key: string, value: string) =>
      [`${indent}{{- with $.Values.${value} }}`, `${indent}${key}: {{ . | quote }}`, `${indent}{{- end }}`].join('\n'),
    )
    .replaceAll(MORES, (_, indent: string, value: string) =>
      [
        `${indent}{{- with .Values.${value} }}`,
        `${indent}{{- toYaml . | nindent ${indent.length} }}`,
        `${indent}{{- end }}`,
      ].join('\n'),
    );

interface Container {
  readonly name: string;
  readonly env?: readonly object[];
  readonly volumeMounts: readonly object[];
}

interface PodTemplate {
  readonly metadata: { readonly labels: object };
  readonly spec: { readonly containers: readonly Container[]; readonly volumes: readonly object[] };
}

const IN_VALUES: Readonly<Record<string, string>> = {
  'machine-controller-manager': 'manager',
  'machine-controller': 'controller',
  'machine-config-controller': 'configController',
  'machine-config-daemon': 'configDaemon',
  'mcm-dashboard': 'dashboard',
};

function containerWithPlaces(container: Container): object {
  const name = IN_VALUES[container.name] ?? '';
  const env = container.env ? { env: [...container.env, ...items(`env.${name}`)] } : field('env', `env.${name}`);
  const imagePullPolicy = '{{ .Values.image.pullPolicy }}';
  return {
    ...container,
    imagePullPolicy,
    ...env,
    volumeMounts: [
      ...container.volumeMounts,
      ...(isController(container) ? [{ __hooks__: 'mount' }] : []),
      ...items(`volumeMounts.${name}`),
    ],
  };
}

const isController = ({ name }: Pick<Container, 'name'>): boolean => name === 'machine-controller';

function hookVolumes(containers: readonly Container[], all: boolean): readonly object[] {
  if (!containers.some(isController)) return [];
  return [{ __hooks__: !all && containers.length > 1 ? 'sharedVolume' : 'volume' }];
}

// Adds markers to a pod template.
const podWithPlaces = ({ metadata, spec }: PodTemplate, all = false): object => ({
  metadata: { labels: { ...metadata.labels, ...entries('pod.labels') }, ...field('annotations', 'pod.annotations') },
  spec: {
    ...spec,
    priorityClassName: '{{ .Values.pod.priorityClassName }}',
    ...field('imagePullSecrets', 'pod.imagePullSecrets'),
    ...field('nodeSelector', 'pod.nodeSelector'),
    ...field('tolerations', 'pod.tolerations'),
    ...field('affinity', 'pod.affinity'),
    containers: all ? spec.containers.map(containerWithPlaces) : lastIfShared(spec.containers.map(containerWithPlaces)),
    volumes: [...spec.volumes, ...hookVolumes(spec.containers, all), ...items('pod.volumes')],
  },
});

/** Adds markers to the pod template of a DaemonSet, except for scheduling. */
const daemonWithPlaces = ({ metadata, spec }: PodTemplate): object => ({
  metadata: { labels: { ...metadata.labels, ...entries('pod.labels') }, ...field('annotations', 'pod.annotations') },
  spec: {
    ...spec,
    ...field('imagePullSecrets', 'pod.imagePullSecrets'),
    containers: spec.containers.map(containerWithPlaces),
    volumes: [...spec.volumes, ...items('pod.volumes')],
  },
});

interface Metadata {
  readonly name: string;
  readonly labels?: object;
  readonly annotations?: object;
}

type Placed = { readonly metadata: Metadata } & (
  | { readonly kind: 'Deployment' | 'StatefulSet' | 'DaemonSet'; readonly spec: { readonly template: PodTemplate } }
  | { readonly kind: 'NetworkPolicy'; readonly spec: PolicySpec }
  | { readonly kind: 'Service'; readonly spec: { readonly ports: readonly { readonly name: string }[] } }
  | { readonly kind: 'PodDisruptionBudget'; readonly spec: object }
  | { readonly kind: 'ServiceMonitor'; readonly spec: { readonly endpoints: readonly object[] } }
  | { readonly kind: 'PodMonitor'; readonly spec: { readonly podMetricsEndpoints: readonly object[] } }
  | { readonly kind: 'ConfigMap'; readonly data: Readonly<Record<string, string>> }
  | { readonly kind: 'ServiceAccount' | 'FlowSchema' | 'PrometheusRule' | 'CustomResourceDefinition' }
);

interface PolicySpec {
  readonly ingress: readonly { readonly ports: readonly object[] }[];
  readonly egress: readonly object[];
}

const when = (condition: string, object: object): object => ({ [WHEN]: condition, ...object });

const withMetadata = <T extends { readonly metadata: Metadata }>(object: T, more: object): T => ({
  ...object,
  metadata: { ...object.metadata, ...more },
});

/** Adds the markers and the common labels of the chart to an object. */
export function withPlaces(object: object): object {
  const { metadata } = object as Placed;
  return withPlacesOfKind(withMetadata(object as Placed, { labels: { ...metadata.labels, [LABELS]: true } }));
}

function withPlacesOfKind(placed: Placed): object {
  const { name, labels } = placed.metadata;
  switch (placed.kind) {
    case 'Deployment':
      return { ...placed, spec: { ...placed.spec, template: podWithPlaces(placed.spec.template) } };
    case 'StatefulSet':
      return { ...placed, spec: { ...placed.spec, template: podWithPlaces(placed.spec.template, true) } };
    case 'DaemonSet':
      return { ...placed, spec: { ...placed.spec, template: daemonWithPlaces(placed.spec.template) } };
    case 'NetworkPolicy':
      return policyWithPlaces(name, placed, placed.spec);
    case 'Service':
      return name !== FLEET_APP && placed.spec.ports.at(-1)?.name === 'controller-tls'
        ? { ...placed, spec: { ...placed.spec, ports: lastIfShared(placed.spec.ports) } }
        : placed;
    case 'FlowSchema':
      return [CONTROLLER_APP, FLEET_APP].includes(name.split('.')[0] ?? '')
        ? when('.Values.fairness.enabled', placed)
        : placed;
    case 'PodDisruptionBudget':
      return when('.Values.podDisruptionBudget.enabled', {
        ...placed,
        spec: { ...placed.spec, maxUnavailable: '__number__{{ .Values.podDisruptionBudget.maxUnavailable }}__' },
      });
    case 'ServiceAccount':
      return accountWithPlaces(placed);
    case 'ServiceMonitor':
    case 'PodMonitor':
      return monitorWithPlaces(placed);
    case 'PrometheusRule':
      return when(
        '.Values.monitoring.rules.enabled',
        withMetadata(placed, { labels: { ...labels, ...entries('monitoring.labels') } }),
      );
    case 'ConfigMap':
      return when('.Values.monitoring.dashboards.enabled', {
        ...withMetadata(placed, {
          labels: { ...labels, ...entries('monitoring.dashboards.labels') },
          ...field('annotations', 'monitoring.dashboards.annotations'),
        }),
        data: Object.fromEntries(
          Object.keys(placed.data).map((key) => [key, `__file__dashboards/${key.replace(/^mcm-/, '')}`]),
        ),
      });
    case 'CustomResourceDefinition':
      return when(
        '.Values.crds.enabled',
        withMetadata(placed, {
          annotations: { ...placed.metadata.annotations, [KEEP]: true },
        }),
      );
    default:
      return placed;
  }
}

/** Adds markers to a network policy. */
function policyWithPlaces(name: string, placed: object, spec: PolicySpec): object {
  const more = items('networkPolicy.egress');
  const enabled = '.Values.networkPolicy.enabled';
  if (name === CONFIG_APP || name === DASHBOARD_APP)
    return when(enabled, { ...placed, spec: { ...spec, egress: [...spec.egress, ...more] } });
  const isAws = 'eq .Values.provider "aws"';
  if (name === CONTROLLER_APP || name === FLEET_APP) {
    const egress = [...spec.egress, itemIf(isAws, METADATA_EGRESS), ...more];
    return when(enabled, { ...placed, spec: { ...spec, egress } });
  }
  const ingress = spec.ingress.map((rule) => ({ ...rule, ports: lastIfShared(rule.ports) }));
  const metadata = itemIf(`and (${isAws}) (not ${IS_SEPARATE})`, METADATA_EGRESS);
  return { ...placed, spec: { ...spec, ingress, egress: [...spec.egress, metadata, ...more] } };
}

/** Adds markers to a ServiceAccount. A user can select an existing ServiceAccount for the controllers instead. */
function accountWithPlaces(placed: Placed): object {
  const { name } = placed.metadata;
  if (name === CONTROLLER_APP)
    return when('.Values.rbac.enabled', withMetadata(placed, field('annotations', 'separateController.annotations')));
  const annotated = withMetadata(placed, field('annotations', 'serviceAccount.annotations'));
  return name === CONFIG_APP || name === DASHBOARD_APP || name.startsWith(DAEMON_APP)
    ? annotated
    : when('.Values.serviceAccount.create', annotated);
}

function monitorWithPlaces(placed: Placed & { readonly kind: 'ServiceMonitor' | 'PodMonitor' }): object {
  const labelled = withMetadata(placed, {
    labels: { ...placed.metadata.labels, ...entries('monitoring.labels') },
  });
  const interval = (value: string) => scalar('interval', value);
  if (labelled.kind === 'ServiceMonitor') {
    const endpoints = labelled.spec.endpoints.map((endpoint) => ({
      ...endpoint,
      ...interval('monitoring.serviceMonitor.interval'),
    }));
    return when(monitorCondition('serviceMonitor', placed), { ...labelled, spec: { ...labelled.spec, endpoints } });
  }
  const podMetricsEndpoints = labelled.spec.podMetricsEndpoints.map((endpoint) => ({
    ...endpoint,
    ...field('authorization', 'monitoring.podMonitor.authorization'),
    ...interval('monitoring.podMonitor.interval'),
  }));
  return when(monitorCondition('podMonitor', placed), {
    ...labelled,
    spec: { ...labelled.spec, podMetricsEndpoints },
  });
}

/** Returns the condition under which a monitor exists: its program is enabled. */
function monitorCondition(kind: 'serviceMonitor' | 'podMonitor', { metadata: { name } }: Placed): string {
  const conditions: Readonly<Record<string, string>> = {
    [CONFIG_APP]: '.Values.machineConfig.enabled',
    [CONTROLLER_APP]: `.Values.workload.enabled ${IS_SEPARATE}`,
    [FLEET_APP]: '.Values.fleet.enabled',
  };
  // The Service of a fleet has the label of the installation, and its pods have a different label.
  const others =
    kind === 'serviceMonitor'
      ? '(or .Values.workload.enabled .Values.fleet.enabled)'
      : '.Values.workload.enabled (not .Values.fleet.enabled)';
  return `and .Values.monitoring.${kind}.enabled ${conditions[name] ?? others}`;
}
