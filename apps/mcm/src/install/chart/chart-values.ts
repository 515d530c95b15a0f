import { stringify } from 'yaml';
import { DEFAULT_INSTALL } from '../objects/settings.ts';

/** A value of the chart: its description, its default, and its schema (JSON Schema). */
interface Value {
  readonly about?: string;
  readonly value: unknown;
  readonly schema: object;
}

/** A section with the field `enabled`. */
const enabled = (on: boolean, about?: string, more: Readonly<Record<string, Value>> = {}): Value => ({
  ...(about === undefined ? {} : { about }),
  value: { enabled: on, ...Object.fromEntries(Object.entries(more).map(([name, { value }]) => [name, value])) },
  schema: closed({
    enabled: { type: 'boolean' },
    ...Object.fromEntries(Object.entries(more).map(([name, { schema }]) => [name, schema])),
  }),
});

/** An object with only these fields. */
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
/** Labels of pods. The labels of the selector are forbidden. */
const LABELS = { ...TEXTS, propertyNames: { not: { pattern: '^app\\.kubernetes\\.io/(name|part-of)$' } } };

/** All values, in the order of the file. */
function values(): Readonly<Record<string, Value>> {
  const { provider, replicas, kubeconfigs, shares, configController, configDaemon, ...given } = DEFAULT_INSTALL;
  return {
    provider: {
      about:
        '# aws, azure, gcp or local. Selects the image of the machine controller, unless images.controller is set.\n',
      value: provider,
      schema: { enum: ['aws', 'azure', 'gcp', 'local'] },
    },
    replicas: {
      about: '# One replica of each container is the leader, the others are on standby.\n',
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
        '# inClusterConfig, none (only target), or /etc/mcm/control/kubeconfig and /etc/mcm/target/kubeconfig.\n# The files are the key kubeconfig of the Secrets machine-controller-manager-control and machine-controller-manager-target.\n',
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
        '# Environment variables, as in a container: NODE_EXTRA_CA_CERTS, OTEL_EXPORTER_OTLP_ENDPOINT, variables of a cloud SDK.\n',
      value: forEach([]),
      schema: each(CONTAINERS, OBJECTS),
    },
    volumeMounts: {
      about: '# As in a container, for volumes of pod.volumes.\n',
      value: forEach([]),
      schema: each(CONTAINERS, OBJECTS),
    },
    pod: {
      about: '# As in a pod. The machine-config-daemon uses only labels, annotations, imagePullSecrets and volumes.\n',
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
      about: '# CPU has no limit, because a throttled controller loses its Lease.\n',
      value: {
        ...given.resources,
        ...{ configController: configController.resources, configDaemon: configDaemon.resources },
      },
      schema: each(CONTAINERS, each(['cpu', 'memory', 'memoryLimit'], QUANTITY)),
    },
    rbac: enabled(true, '# Roles in the control cluster.\n'),
    targetRbac: enabled(
      true,
      '# Roles in the target cluster. If it is a different cluster, set this to false and run there: mcm install --part=target\n',
    ),
    webhooks: enabled(true, '# Admission webhooks for defaults and validation, with self-signed certificates.\n'),
    workload: enabled(true),
    networkPolicy: enabled(
      true,
      '# Egress is allowed for DNS and for the ports 443 and 6443. Add other destinations under egress, as in a NetworkPolicy.\n# Examples: a proxy, a collector of traces, an API server on another port.\n',
      { egress: { value: [], schema: OBJECTS } },
    ),
    fairness: enabled(
      true,
      '# A reserved share of the capacity of the API server. With many installations in one cluster, use a smaller one.\n',
      { shares: { value: shares, schema: { type: 'integer', minimum: 1 } } },
    ),
    machineConfig: enabled(false, '# The machine-config-controller, with its CRDs and roles.\n'),
    machineConfigTarget: enabled(
      false,
      '# Roles of the machine-config-controller and of the machine-config-daemon in the target cluster.\n',
    ),
    machineConfigDaemon: enabled(
      false,
      '# The machine-config-daemon as a privileged pod on each node, if systemd does not start it. Needs machineConfigTarget.\n',
    ),
    policies: enabled(
      false,
      '# Refuses manual changes of provider IDs and of the finalizer, which would lose a VM. Needs kubeconfigs.control inClusterConfig.\n',
    ),
    monitoring: enabled(
      false,
      '# ServiceMonitor and PrometheusRule for the Prometheus operator, which may select them by labels.\n',
      {
        labels: { value: {}, schema: TEXTS },
      },
    ),
  };
}

/** The file values.yaml: the same defaults as without Helm, with a comment for each value. */
export const valuesText = (): string =>
  Object.entries(values())
    .map(
      ([name, { about = '', value }]) =>
        about + stringify({ [name]: value }, { lineWidth: 0, aliasDuplicateObjects: false }),
    )
    .join('');

/** The schema that Helm validates values with. */
export const valuesSchema = (): object => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...closed({
    // Values of a parent chart.
    global: { type: 'object' },
    ...Object.fromEntries(Object.entries(values()).map(([name, { schema }]) => [name, schema])),
  }),
});
