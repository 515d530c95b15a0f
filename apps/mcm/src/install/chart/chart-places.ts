import { APP } from '../objects/settings.ts';
import { METADATA_EGRESS } from '../objects/workload.ts';

/**
 * Places in the templates of the chart where values add fields to a pod. Other installations use patches for these.
 * The places are marked in the objects, and replaced in their text.
 */

/** Marks in the objects, as keys and values. */
const FIELD = '__field__';
const MORE = '__more__';

/** `key:` with the content of the value; nothing for an empty value. */
const field = (key: string, value: string): Readonly<Record<string, string>> => ({ [`${FIELD}${key}`]: value });
/** More entries of a map. */
const entries = (value: string): Readonly<Record<string, string>> => ({ [MORE]: value });
/** More items of a list. */
const items = (value: string): readonly object[] => [{ [MORE]: value }];

/** A conditional item of a list. */
const itemIf = (condition: string, item: object): object => ({ __if__: condition, ...item });

const IFS = /^( *)- __if__: (.*)\n\1 {2}((?:.*\n)(?:\1 {2}.*\n)*)/gm;
const FIELDS = /^( *)(- )?__field__(\w+): ([\w.]+)$/gm;
const MORES = /^( *)(?:- )?__more__: ([\w.]+)$/gm;
/** A list of flags with their values. Numbers need `toJson`, because `%v` would write them with an exponent. */
const FLAGS = /^( *)- --__flags__=(\w+)$/gm;
const WEBHOOK_FLAGS = /(?:^ *- --webhook-\S+=.*\n)+/gm;

/** Replaces the marks in the text of a template. */
export const filledIn = (text: string): string =>
  text
    .replaceAll(FLAGS, (_, indent: string, container: string) =>
      [
        `${indent}{{- range $name, $value := .Values.flags.${container} }}`,
        `${indent}- {{ printf "--%s=%s" $name (ternary $value (toJson $value) (kindIs "string" $value)) | quote }}`,
        `${indent}{{- end }}`,
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

/** The names of containers in the values. */
const IN_VALUES: Readonly<Record<string, string>> = {
  'machine-controller-manager': 'manager',
  'machine-controller': 'controller',
  'machine-config-controller': 'configController',
  'machine-config-daemon': 'configDaemon',
};

function containerWithPlaces(container: Container): object {
  const name = IN_VALUES[container.name] ?? '';
  const env = container.env ? { env: [...container.env, ...items(`env.${name}`)] } : field('env', `env.${name}`);
  return { ...container, ...env, volumeMounts: [...container.volumeMounts, ...items(`volumeMounts.${name}`)] };
}

/** Marks for the pods of a Deployment. */
const podWithPlaces = ({ metadata, spec }: PodTemplate): object => ({
  metadata: { labels: { ...metadata.labels, ...entries('pod.labels') }, ...field('annotations', 'pod.annotations') },
  spec: {
    ...spec,
    priorityClassName: '{{ .Values.pod.priorityClassName }}',
    ...field('imagePullSecrets', 'pod.imagePullSecrets'),
    ...field('nodeSelector', 'pod.nodeSelector'),
    ...field('tolerations', 'pod.tolerations'),
    ...field('affinity', 'pod.affinity'),
    containers: spec.containers.map(containerWithPlaces),
    volumes: [...spec.volumes, ...items('pod.volumes')],
  },
});

/** Marks for the pods of a DaemonSet, without placement, because they run on every node. */
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
  readonly labels: object;
}

type Placed =
  | { readonly kind: 'Deployment' | 'DaemonSet'; readonly spec: { readonly template: PodTemplate } }
  | {
      readonly kind: 'NetworkPolicy';
      readonly metadata: { readonly name: string };
      readonly spec: { readonly egress: readonly object[] };
    }
  | { readonly kind: 'ServiceAccount' | 'ServiceMonitor' | 'PrometheusRule'; readonly metadata: Metadata }
  | { readonly kind: 'CustomResourceDefinition'; readonly metadata: { readonly annotations?: object } };

/** Adds the marks to an object. */
export function withPlaces(object: object): object {
  const placed = object as Placed;
  switch (placed.kind) {
    case 'Deployment':
      return { ...placed, spec: { ...placed.spec, template: podWithPlaces(placed.spec.template) } };
    case 'DaemonSet':
      return { ...placed, spec: { ...placed.spec, template: daemonWithPlaces(placed.spec.template) } };
    case 'NetworkPolicy': {
      const { egress } = placed.spec;
      const metadata = placed.metadata.name === APP ? [itemIf('eq .Values.provider "aws"', METADATA_EGRESS)] : [];
      return {
        ...placed,
        spec: { ...placed.spec, egress: [...egress, ...metadata, ...items('networkPolicy.egress')] },
      };
    }
    case 'ServiceAccount':
      return { ...placed, metadata: { ...placed.metadata, ...field('annotations', 'serviceAccount.annotations') } };
    case 'ServiceMonitor':
    case 'PrometheusRule':
      return {
        ...placed,
        metadata: { ...placed.metadata, labels: { ...placed.metadata.labels, ...entries('monitoring.labels') } },
      };
    case 'CustomResourceDefinition':
      // Without this annotation, `helm uninstall` would delete every object of the kind.
      return {
        ...placed,
        metadata: {
          ...placed.metadata,
          annotations: { ...placed.metadata.annotations, 'helm.sh/resource-policy': 'keep' },
        },
      };
    default:
      return placed;
  }
}
