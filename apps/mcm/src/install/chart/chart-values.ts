import { stringify } from 'yaml';
import { DEFAULT_INSTALL, PROVIDERS } from '../objects/settings.ts';
import { flagSchemas, flagsByProvider, type ProgramFlags } from './chart-flags.ts';

export const CHART = {
  name: 'machine-controller-manager',
  description: 'Machines for Kubernetes: deployments, sets and machines, and the controller of one provider',
} as const;

/** A value of the chart: its description, its default, and its JSON schema. */
interface Value {
  readonly about: string;
  readonly value: unknown;
  readonly schema: object;
}

interface Group {
  readonly about: string;
  readonly fields: Fields;
}

interface Fields {
  readonly [name: string]: Value | Group;
}

const isGroup = (entry: Value | Group): entry is Group => 'fields' in entry;

const value = (about: string, given: unknown, schema: object): Value => ({ about, value: given, schema });
const group = (about: string, fields: Fields): Group => ({ about, fields });
const enabled = (on: boolean, about: string): Value => value(about, on, { type: 'boolean' });
const part = (on: boolean, about: string, fields: Fields = {}): Group =>
  group(about, {
    enabled: enabled(on, 'If true, the chart installs the objects that this section describes.'),
    ...fields,
  });

/** Returns the schema of an object that may contain only the given fields. */
const closed = (properties: object, required: readonly string[] = []): object => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required: required.length > 0 ? required : undefined,
});

const CONTAINERS = {
  manager: 'the machine-controller-manager',
  controller: 'the machine controller',
  configController: 'the machine-config-controller',
  configDaemon: 'the machine-config-daemon',
  dashboard: 'the dashboard',
} as const;
type Container = keyof typeof CONTAINERS;

const forEach = (about: string, fieldOf: (container: Container, program: string) => Value | Group): Group =>
  group(
    about,
    Object.fromEntries(
      Object.entries(CONTAINERS).map(([name, program]) => [name, fieldOf(name as Container, program)]),
    ),
  );

const TEXT = { type: 'string', minLength: 1 };
const ANY_TEXT = { type: 'string' };
const NAME = { type: 'string', pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$', maxLength: 63 };
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } };
const COUNT = { type: 'integer', minimum: 0 };
const QUANTITY = { type: ['string', 'number'], pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$' };
const DURATION = { type: 'string', pattern: '^([0-9]+(ms|s|m|h))*$' };
const POD_LABELS = { ...TEXTS, propertyNames: { not: { pattern: '^app\\.kubernetes\\.io/(name|part-of)$' } } };
const COMMON_LABELS = {
  ...TEXTS,
  propertyNames: {
    not: { pattern: '^(app\\.kubernetes\\.io/(name|part-of|instance|version|managed-by)|helm\\.sh/chart)$' },
  },
};
const ANYTHING = { type: 'object' };

/**
 * The schemas of pod fields, with their allowed members. For an unknown member of a pod field, Helm reports an error.
 * The API server would ignore an unknown member of a pod field.
 */
const ENV = {
  type: 'array',
  items: closed({ name: TEXT, value: ANY_TEXT, valueFrom: ANYTHING }, ['name']),
};
const MOUNTS = {
  type: 'array',
  items: closed(
    {
      name: TEXT,
      mountPath: TEXT,
      subPath: ANY_TEXT,
      subPathExpr: ANY_TEXT,
      readOnly: { type: 'boolean' },
      mountPropagation: ANY_TEXT,
      recursiveReadOnly: ANY_TEXT,
    },
    ['name', 'mountPath'],
  ),
};
const TOLERATIONS = {
  type: 'array',
  items: closed({
    key: ANY_TEXT,
    operator: { enum: ['Exists', 'Equal', 'Lt', 'Gt'] },
    value: ANY_TEXT,
    effect: { enum: ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
    tolerationSeconds: { type: 'integer' },
  }),
};
const SPREAD = {
  type: 'array',
  items: closed(
    {
      maxSkew: { type: 'integer', minimum: 1 },
      topologyKey: TEXT,
      minDomains: { type: 'integer', minimum: 1 },
      whenUnsatisfiable: { enum: ['DoNotSchedule', 'ScheduleAnyway'] },
      nodeAffinityPolicy: { enum: ['Honor', 'Ignore'] },
      nodeTaintsPolicy: { enum: ['Honor', 'Ignore'] },
    },
    ['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
  ),
};
const AFFINITY = closed({ nodeAffinity: ANYTHING, podAffinity: ANYTHING, podAntiAffinity: ANYTHING });
const PULL_SECRETS = { type: 'array', items: closed({ name: TEXT }, ['name']) };
const VOLUMES = { type: 'array', items: { type: 'object', required: ['name'], properties: { name: TEXT } } };

/** Returns an image without its tag. */
export const repositoryOf = (image: string): string => image.replace(/:[^:/]*$/, '');

function imageGroup(container: Container, program: string): Group {
  const { images, configController, configDaemon, dashboard } = DEFAULT_INSTALL;
  const defaults: Readonly<Record<Container, string>> = {
    manager: repositoryOf(images.manager),
    controller: '',
    configController: repositoryOf(configController.image),
    configDaemon: repositoryOf(configDaemon.image),
    dashboard: repositoryOf(dashboard.image),
  };
  const known = container === 'controller';
  return group(`Image of ${program}.`, {
    repository: value(
      known
        ? `Repository of the image. If the repository is empty, the chart uses mcm/machine-controller-PROVIDER. Any provider other than ${PROVIDERS.join(', ')} needs a repository.`
        : 'Repository of the image.',
      defaults[container],
      known ? ANY_TEXT : TEXT,
    ),
    tag: value('Tag of the image. If the tag is empty, the chart uses its own version.', '', {
      type: 'string',
      pattern: '^([A-Za-z0-9_][A-Za-z0-9_.-]*)?$',
    }),
    digest: value(
      'Digest of the image, such as sha256:… If the digest is set, it selects the image, and the tag is only informative.',
      '',
      {
        type: 'string',
        pattern: '^([a-z0-9]+:[0-9a-f]{32,})?$',
      },
    ),
  });
}

const HOOK_WEBHOOKS = group('Hooks that call a webhook (docs/hooks.md).', {
  secret: value(
    'Secret with the file webhooks.json, and with the keys and certificates that the file names. The chart mounts the Secret at /etc/mcm/hooks. If no Secret is set, hooks call no webhooks.',
    '',
    { type: 'string', pattern: '^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$' },
  ),
});

const POD = group(
  'Fields in the format of a pod spec. The machine-config-daemon uses only labels, annotations, imagePullSecrets and volumes.',
  {
    labels: value('Labels of the pods.', {}, POD_LABELS),
    annotations: value('Annotations of the pods.', {}, TEXTS),
    imagePullSecrets: value(
      'Secrets with the credentials of the registry, as a list of names: [{name: x}].',
      [],
      PULL_SECRETS,
    ),
    priorityClassName: value('Priority class of the pods.', 'system-cluster-critical', ANY_TEXT),
    nodeSelector: value('Node selector of the pods.', {}, TEXTS),
    tolerations: value('Tolerations of the pods.', [], TOLERATIONS),
    affinity: value('Affinity of the pods.', {}, AFFINITY),
    topologySpread: value(
      'Topology spread constraints of the pods. The chart adds the label selector.',
      [{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' }],
      SPREAD,
    ),
    volumes: value('Additional volumes of the pods.', [], VOLUMES),
  },
);

const POD_FIELDS = { hookWebhooks: HOOK_WEBHOOKS, pod: POD };

const MONITORING = part(false, 'Objects of the Prometheus operator, and Grafana dashboards.', {
  labels: value('Labels that the Prometheus operator uses to select the objects.', {}, TEXTS),
  runbookBaseUrl: value(
    'Address of the folder that contains docs/runbooks, for links in alerts. If the address is empty, alerts have no links.',
    '',
    { type: 'string', pattern: '^(https?://.+)?$' },
  ),
  serviceMonitor: group('ServiceMonitors for the metrics of the enabled programs.', {
    enabled: enabled(true, 'Creates ServiceMonitors.'),
    interval: value(
      'Scrape interval. If the interval is empty, Prometheus uses its own scrape interval.',
      '',
      DURATION,
    ),
  }),
  podMonitor: group('Installs PodMonitors, for a Prometheus that selects only PodMonitors.', {
    enabled: enabled(false, 'Creates PodMonitors.'),
    interval: value(
      'Scrape interval. If the interval is empty, Prometheus uses its own scrape interval.',
      '',
      DURATION,
    ),
    authorization: value(
      'Secret with the token of an account that can read /metrics: {credentials: {name: x, key: token}}.',
      {},
      closed({ type: ANY_TEXT, credentials: closed({ name: TEXT, key: TEXT, optional: { type: 'boolean' } }) }),
    ),
  }),
  rules: group('Alerts for Prometheus.', { enabled: enabled(true, 'Creates a PrometheusRule.') }),
  dashboards: group('Grafana dashboards in a ConfigMap.', {
    enabled: enabled(true, 'Creates the ConfigMap.'),
    labels: value(
      'Additional labels of the ConfigMap. The Grafana sidecar finds dashboards by their labels.',
      {},
      TEXTS,
    ),
    annotations: value('Annotations of the ConfigMap, for example the folder in Grafana.', {}, TEXTS),
  }),
});

/** Returns the values of the section `fleet`. */
const fleetFields = () =>
  part(
    false,
    'Runs a fleet of replicas that serve many clusters (docs/fleet-mode.md). In fleet mode, the chart does not install the parts rbac, targetRbac, webhooks and workload. The chart refuses separateController in fleet mode.',
    {
      selector: value(
        'Label selector of the namespaces that the fleet serves. If the selector is empty, the fleet uses mcm-fleet=PROVIDER.',
        '',
        ANY_TEXT,
      ),
      clusters: value(
        'Label selector of the Clusters of Cluster API that the fleet serves (--fleet-clusters). If clusters is set, the chart also binds the role for Clusters, and fleet.selector has no effect.',
        '',
        ANY_TEXT,
      ),
      clusterProfiles: value(
        'Label selector of the ClusterProfiles that the fleet serves (--fleet-cluster-profiles). If clusterProfiles is set, the chart also binds the role for ClusterProfiles, and fleet.selector has no effect.',
        '',
        ANY_TEXT,
      ),
      namespaces: value(
        'Namespaces in which the chart binds the roles of the fleet. In each additional namespace, create the RoleBinding yourself.',
        [],
        { type: 'array', items: TEXT, uniqueItems: true },
      ),
      cacheLimit: value(
        'Maximum estimated size of the caches of one cluster, in MiB (--fleet-cache-limit). If cacheLimit is above 0, the chart also binds the role with which the fleet annotates namespaces. 0: no limit.',
        0,
        COUNT,
      ),
      partition: value(
        'Lowest ordinal of the pods that an upgrade replaces. All pods with a lower ordinal keep their version. 0: all pods.',
        0,
        COUNT,
      ),
    },
  );

const partFields = (shares: number | string): Fields => ({
  rbac: part(
    true,
    'ServiceAccount and roles of the machine-controller-manager and of the machine controller in the control cluster. The other sections contain the roles of their own programs.',
  ),
  targetRbac: part(
    true,
    'Roles in the target cluster. For a separate target cluster, set this value to false and run mcm install --part=target in that cluster.',
  ),
  webhooks: part(
    true,
    'Admission webhooks for defaults and validation, with self-signed certificates. Requires workload.enabled.',
  ),
  workload: part(true, 'The Deployment of the controllers, and its Service.'),
  podDisruptionBudget: part(true, 'PodDisruptionBudget of the pods. Requires workload.enabled.', {
    maxUnavailable: value('Number of pods that may be evicted at the same time.', 1, COUNT),
  }),
  networkPolicy: part(
    true,
    'NetworkPolicies of the controllers and of the dashboard. These policies allow egress only for DNS and for the ports 443 and 6443.',
    {
      egress: value(
        'Additional egress rules in the format of a NetworkPolicy, for example for a proxy or a trace collector.',
        [],
        {
          type: 'array',
          items: closed({ to: { type: 'array', items: ANYTHING }, ports: { type: 'array', items: ANYTHING } }),
        },
      ),
    },
  ),
  fairness: part(true, 'Reserves a share of the capacity of the API server for the controllers.', {
    shares: value(
      'Concurrency shares of the controllers. If the cluster has many installations, use a smaller number.',
      shares,
      {
        type: 'integer',
        minimum: 1,
      },
    ),
  }),
  separateController: part(
    false,
    'Runs the machine controller in separate pods. With separate pods, the pods of the machine-controller-manager have no roles and no credentials of the machine controller. Requires workload.enabled.',
    {
      annotations: value(
        'Annotations of the ServiceAccount of the machine controller, for example for a workload identity. The annotations in serviceAccount.annotations do not apply to the machine controller.',
        {},
        TEXTS,
      ),
    },
  ),
  fleet: fleetFields(),
  machineConfig: part(false, 'The machine-config-controller, with its CRDs and roles.'),
  machineConfigTarget: part(
    false,
    'Roles of the machine-config-controller and of the machine-config-daemon in the target cluster.',
  ),
  machineConfigDaemon: part(
    false,
    'Runs the machine-config-daemon as a privileged pod on each node, for nodes that do not have its systemd unit. Requires machineConfigTarget.',
  ),
  dashboard: part(
    false,
    'Runs the dashboard in the cluster. Users log in with tokens of the control cluster. Requires dashboardTarget.',
  ),
  dashboardTarget: part(false, 'Creates the RBAC role of the dashboard in the target cluster.'),
  policies: part(
    false,
    'Policies that refuse manual changes of provider IDs and of the finalizer, because these changes can orphan a VM. Requires inClusterConfig as kubeconfigs.control.',
  ),
});

const kubeconfigGroup = (kubeconfigs: typeof DEFAULT_INSTALL.kubeconfigs): Group =>
  group(
    'Kubeconfigs of both clusters. Each value is inClusterConfig, /etc/mcm/control/kubeconfig or /etc/mcm/target/kubeconfig. The value of target can also be none. The Secrets machine-controller-manager-control and machine-controller-manager-target contain the files.',
    {
      control: value('Kubeconfig of the cluster with the machine objects.', kubeconfigs.control, {
        type: 'string',
        pattern: '^(inClusterConfig|/.+)$',
      }),
      target: value('Kubeconfig of the cluster with the nodes.', kubeconfigs.target, {
        type: 'string',
        pattern: '^(inClusterConfig|none|/.+)$',
      }),
    },
  );

function values(programs: ProgramFlags): Fields {
  const { replicas, kubeconfigs, shares, configController, configDaemon, dashboard, resources } = DEFAULT_INSTALL;
  const schemaOfFlags: Readonly<Record<Container, object>> = flagSchemas(programs);
  const resourcesOf: Readonly<Record<Container, object>> = {
    ...resources,
    configController: configController.resources,
    configDaemon: configDaemon.resources,
    dashboard: dashboard.resources,
  };
  return {
    provider: value(
      `Provider of the machine controller. The provider must be ${PROVIDERS.join(', ')}, or the name of another provider. Another provider also needs images.controller.repository.`,
      '',
      { type: 'string', pattern: '^([a-z][a-z0-9-]*)?$' },
    ),
    replicas: value(
      'Number of pods. For each program, one replica is the leader, and the other replicas are on standby. In a fleet, each replica serves a share of the clusters.',
      replicas,
      COUNT,
    ),
    nameOverride: value('Value of the label app.kubernetes.io/name. The default is the name of the chart.', '', NAME),
    fullnameOverride: value('Name of all objects of the chart. The default is the value of nameOverride.', '', NAME),
    commonLabels: value('Labels of all objects of the chart.', {}, COMMON_LABELS),
    crds: group(
      'CustomResourceDefinitions of machines. If machineConfig is enabled, the chart also installs the CRDs of machine configs.',
      {
        enabled: enabled(
          true,
          'Installs and upgrades the CRDs. If the cluster has CRDs that belong to no Helm release, set this value to false, or use --take-ownership.',
        ),
        keep: enabled(
          true,
          'Keeps the CRDs after helm uninstall. If false, helm uninstall deletes the CRDs and all machines.',
        ),
      },
    ),
    image: group('Settings of all images.', {
      registry: value('Registry of all images. The chart adds the registry in front of each repository.', '', ANY_TEXT),
      pullPolicy: value('Pull policy of all images.', 'IfNotPresent', { enum: ['Always', 'IfNotPresent', 'Never'] }),
    }),
    images: forEach('Images of the programs. The name of an image is registry/repository:tag@digest.', imageGroup),
    kubeconfigs: kubeconfigGroup(kubeconfigs),
    flags: forEach(
      'Flags of the programs, by name without the leading --. The chart refuses unknown flags. docs/reference/flags.md lists the flags.',
      (container, program) => value(`Flags of ${program}.`, {}, schemaOfFlags[container]),
    ),
    env: forEach(
      'Environment variables of the programs, in the format of the field env of a container. Examples are NODE_EXTRA_CA_CERTS, HTTPS proxies, and variables of a cloud SDK.',
      (_, program) => value(`Environment variables of ${program}.`, [], ENV),
    ),
    volumeMounts: forEach(
      'Volume mounts for the volumes in pod.volumes, in the format of the field volumeMounts of a container.',
      (_, program) => value(`Volume mounts of ${program}.`, [], MOUNTS),
    ),
    ...POD_FIELDS,
    serviceAccount: group('ServiceAccount of the controllers.', {
      create: enabled(true, 'Creates the ServiceAccount.'),
      name: value(
        'Name of the ServiceAccount. If the name is empty, the ServiceAccount has the name of the other objects.',
        '',
        {
          type: 'string',
          pattern: '^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$',
        },
      ),
      annotations: value('Annotations of the ServiceAccount, for example for a workload identity.', {}, TEXTS),
    }),
    resources: forEach(
      'Resources of the containers. CPU has no limit, because a throttled controller can lose its Lease.',
      (container, program) =>
        value(
          `Resource requests and memory limit of ${program}.`,
          resourcesOf[container],
          closed({ cpu: QUANTITY, memory: QUANTITY, memoryLimit: QUANTITY }),
        ),
    ),
    ...partFields(shares),
    monitoring: MONITORING,
  };
}

const comment = (text: string, indent: string): string => `${indent}# ${text}\n`;

function textOf(fields: Fields, indent = ''): string {
  return Object.entries(fields)
    .map(([name, entry]) => {
      const about = comment(entry.about, indent);
      if (isGroup(entry)) return `${about}${indent}${name}:\n${textOf(entry.fields, `${indent}  `)}`;
      const text = stringify({ [name]: entry.value }, { lineWidth: 0, aliasDuplicateObjects: false });
      return about + text.replace(/^(?=.)/gm, indent);
    })
    .join('');
}

/**
 * Returns the text of values.yaml, with a comment for each value. The defaults in values.yaml are the defaults of
 * `mcm install`.
 */
export const valuesText = (programs: ProgramFlags): string => textOf(values(programs));

const schemaOf = (fields: Fields): object =>
  Object.fromEntries(
    Object.entries(fields).map(([name, entry]) => [
      name,
      { description: entry.about, ...(isGroup(entry) ? closed(schemaOf(entry.fields)) : entry.schema) },
    ]),
  );

/** Returns the JSON schema with which Helm validates the values. */
export const valuesSchema = (programs: ProgramFlags): object => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...closed({
    global: { type: 'object' },
    ...schemaOf(values(programs)),
  }),
  allOf: flagsByProvider(programs),
});

const rowsOf = (fields: Fields, path = ''): readonly (readonly [path: string, value: Value])[] =>
  Object.entries(fields).flatMap(([name, entry]) =>
    isGroup(entry) ? rowsOf(entry.fields, `${path}${name}.`) : [[`${path}${name}`, entry] as const],
  );

/** Returns the README of the chart, with instructions for the installation and a table of the values. */
export function chartReadme(programs: ProgramFlags): string {
  const fields = values(programs);
  const sections = Object.entries(fields)
    .filter((entry): entry is [string, Group] => isGroup(entry[1]))
    .map(([name, entry]) => `### ${name}\n\n${entry.about}\n\n${table(rowsOf(entry.fields, `${name}.`))}`);
  const single = Object.entries(fields).filter((entry): entry is [string, Value] => !isGroup(entry[1]));
  return `# Helm chart ${CHART.name}

This chart installs the machine-controller-manager and the machine controller of one provider. The page is for cluster operators, and
[Installation](../../../docs/install.md) describes the objects.

<!-- not run: e2e/src/deploy/chart.test.ts installs, upgrades and uninstalls the chart where Helm is installed -->
\`\`\`sh
helm install mcm deploy/helm/machine-controller-manager --namespace mcm --create-namespace --set provider=aws
\`\`\`

For your own provider, set its name and its image: \`--set provider=mine --set images.controller.repository=registry.example/machine-controller-mine\`.

## Values

${table(single)}
${sections.join('\n')}`;
}

function table(rows: readonly (readonly [path: string, value: Value])[]): string {
  const cells = rows.map(([path, { about, value: given }]) => [
    `\`${path}\``,
    about.replaceAll('|', '\\|'),
    `\`${JSON.stringify(given)}\``,
  ]);
  const all = [['Value', 'Description', 'Default'], ...cells];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |\n`;
  return line(all[0] ?? []) + rule + all.slice(1).map(line).join('');
}
