import { stringify } from 'yaml';
import { DEFAULT_INSTALL } from '../objects/settings.ts';

/** A value of the chart: what it is for, what it is unless given, and what it may be (JSON Schema). */
interface Value {
  readonly about?: string;
  readonly value: unknown;
  readonly schema: object;
}

/** Switches, in the order in which they are read. */
const enabled = (on: boolean, about?: string, more: Readonly<Record<string, Value>> = {}): Value => ({
  ...(about === undefined ? {} : { about }),
  value: { enabled: on, ...Object.fromEntries(Object.entries(more).map(([name, { value }]) => [name, value])) },
  schema: closed({
    enabled: { type: 'boolean' },
    ...Object.fromEntries(Object.entries(more).map(([name, { schema }]) => [name, schema])),
  }),
});

/** An object with these fields and no others. */
const closed = (properties: object): object => ({ type: 'object', additionalProperties: false, properties });
const each = (names: readonly string[], schema: object): object =>
  closed(Object.fromEntries(names.map((name) => [name, schema])));

const CONTAINERS = ['manager', 'controller', 'configController', 'configDaemon'] as const;
const forEach = <T>(value: T): Readonly<Record<string, T>> =>
  Object.fromEntries(CONTAINERS.map((name) => [name, value]));

const TEXT = { type: 'string', minLength: 1 };
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } };
const OBJECTS = { type: 'array', items: { type: 'object' } };
const QUANTITY = { type: ['string', 'number'], pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$' };
const FLAGS = {
  type: 'object',
  propertyNames: { pattern: '^[a-z][a-z0-9-]*$' },
  additionalProperties: { type: ['string', 'number', 'boolean'] },
};
/** Of pods: labels by which they are found are not for giving. */
const LABELS = { ...TEXTS, propertyNames: { not: { pattern: '^app\\.kubernetes\\.io/(name|part-of)$' } } };

/** Every value, in the order of the file. */
function values(): Readonly<Record<string, Value>> {
  const { provider, replicas, kubeconfigs, shares, configController, configDaemon, ...given } = DEFAULT_INSTALL;
  return {
    provider: {
      about: '# aws, azure, gcp or local: names the image of the machine controller, unless images.controller does.\n',
      value: provider,
      schema: { enum: ['aws', 'azure', 'gcp', 'local'] },
    },
    replicas: {
      about: '# One of each container leads, the others stand by.\n',
      value: replicas,
      schema: { type: 'integer', minimum: 0 },
    },
    images: {
      value: {
        ...{ manager: given.images.manager, controller: '' },
        ...{ configController: configController.image, configDaemon: configDaemon.image },
      },
      schema: closed({ ...forEach(TEXT), controller: { type: 'string' } }),
    },
    kubeconfigs: {
      about:
        '# inClusterConfig, for the target none, or /etc/mcm/control/kubeconfig and /etc/mcm/target/kubeconfig: key kubeconfig of the\n# Secrets machine-controller-manager-control and machine-controller-manager-target.\n',
      value: kubeconfigs,
      schema: closed({
        control: { type: 'string', pattern: '^(inClusterConfig|/.+)$' },
        target: { type: 'string', pattern: '^(inClusterConfig|none|/.+)$' },
      }),
    },
    flags: {
      about: '# Flags by name, without dashes: docs/reference/flags.md.\n',
      value: forEach({}),
      schema: each(CONTAINERS, FLAGS),
    },
    env: {
      about:
        '# Environment variables, as in a container: NODE_EXTRA_CA_CERTS, OTEL_EXPORTER_OTLP_ENDPOINT, those of a cloud.\n',
      value: forEach([]),
      schema: each(CONTAINERS, OBJECTS),
    },
    volumeMounts: {
      about: '# As in a container, of pod.volumes.\n',
      value: forEach([]),
      schema: each(CONTAINERS, OBJECTS),
    },
    pod: {
      about: '# As in a pod. The daemon of each node has labels, annotations, imagePullSecrets and volumes of these.\n',
      value: {
        ...{ labels: {}, annotations: {}, imagePullSecrets: [], priorityClassName: 'system-cluster-critical' },
        ...{ nodeSelector: {}, tolerations: [], affinity: {}, volumes: [] },
      },
      schema: closed({
        ...{ labels: LABELS, annotations: TEXTS, imagePullSecrets: OBJECTS, priorityClassName: { type: 'string' } },
        ...{ nodeSelector: TEXTS, tolerations: OBJECTS, affinity: { type: 'object' }, volumes: OBJECTS },
      }),
    },
    serviceAccount: { value: { annotations: {} }, schema: closed({ annotations: TEXTS }) },
    resources: {
      about: '# Processor time is not limited: a throttled controller loses its lease.\n',
      value: {
        ...given.resources,
        ...{ configController: configController.resources, configDaemon: configDaemon.resources },
      },
      schema: each(CONTAINERS, each(['cpu', 'memory', 'memoryLimit'], QUANTITY)),
    },
    rbac: enabled(true, '# Roles in the cluster of the machine objects.\n'),
    targetRbac: enabled(
      true,
      '# Roles in the cluster of the nodes; switch off where that is another one, and install them there: mcm install --part=target\n',
    ),
    webhooks: enabled(true, '# Defaulting and validation at admission, with self-made certificates.\n'),
    workload: enabled(true),
    networkPolicy: enabled(
      true,
      '# Out: DNS, and ports 443 and 6443. What else the pods must reach (a proxy, a collector of traces, an API server on another\n# port) is added under egress, as in a NetworkPolicy.\n',
      { egress: { value: [], schema: OBJECTS } },
    ),
    fairness: enabled(
      true,
      '# A share of the API server that other requests cannot take; beside many others in one cluster, a smaller one.\n',
      { shares: { value: shares, schema: { type: 'integer', minimum: 1 } } },
    ),
    machineConfig: enabled(false, '# The machine-config-controller with its CRDs and roles.\n'),
    machineConfigTarget: enabled(
      false,
      '# Its roles, and those of the daemons of nodes, in the cluster of the nodes.\n',
    ),
    machineConfigDaemon: enabled(
      false,
      '# The machine-config-daemon as a privileged pod of each node, where systemd does not start it; with machineConfigTarget.\n',
    ),
    policies: enabled(
      false,
      '# Refuses changes by hand that lose a VM: of provider IDs and of the controller’s finalizer; with kubeconfigs.control inClusterConfig.\n',
    ),
    monitoring: enabled(
      false,
      '# ServiceMonitor and PrometheusRule; needs the Prometheus operator, which may look for labels.\n',
      {
        labels: { value: {}, schema: TEXTS },
      },
    ),
  };
}

/** The chart's values: the same defaults as without Helm, with a word on each. */
export const valuesText = (): string =>
  Object.entries(values())
    .map(
      ([name, { about = '', value }]) =>
        about + stringify({ [name]: value }, { lineWidth: 0, aliasDuplicateObjects: false }),
    )
    .join('');

/** What Helm holds given values against. */
export const valuesSchema = (): object => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...closed({
    // Of a chart that has this one inside.
    global: { type: 'object' },
    ...Object.fromEntries(Object.entries(values()).map(([name, { schema }]) => [name, schema])),
  }),
});
