import { stringify } from 'yaml';
import { installSections } from './objects.ts';
import { DEFAULT_INSTALL, type InstallSettings } from './settings.ts';

/** Stands for a number that Helm fills in: YAML would quote the template. */
const NUMBER = /["']?__number__(.*?)__["']?/g;
const number = (template: string): string => `__number__${template}__`;
/** A place where Helm adds a list of flags. */
const MORE_FLAGS = /^( *)- --__flags__=(\w+)$/gm;

/** The settings as templates: the chart is the same objects with these in place of values. */
const SYMBOLIC: InstallSettings = {
  namespace: '{{ .Release.Namespace }}',
  provider: '{{ .Values.provider }}',
  replicas: number('{{ .Values.replicas }}'),
  images: { manager: '{{ .Values.images.manager }}', controller: '{{ .Values.images.controller }}' },
  flags: { manager: { __flags__: 'manager' }, controller: { __flags__: 'controller' } },
  kubeconfigs: { control: '{{ .Values.kubeconfigs.control }}', target: '{{ .Values.kubeconfigs.target }}' },
  resources: {
    manager: resourcesOf('manager'),
    controller: resourcesOf('controller'),
  },
  configController: {
    image: '{{ .Values.images.configController }}',
    flags: { __flags__: 'configController' },
    resources: resourcesOf('configController'),
  },
  configDaemon: {
    image: '{{ .Values.images.configDaemon }}',
    flags: { __flags__: 'configDaemon' },
    resources: resourcesOf('configDaemon'),
  },
};

function resourcesOf(container: string) {
  const at = `.Values.resources.${container}`;
  return { cpu: `{{ ${at}.cpu }}`, memory: `{{ ${at}.memory }}`, memoryLimit: `{{ ${at}.memoryLimit }}` };
}

const templated = (objects: readonly object[]): string =>
  objects
    .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n')
    .replaceAll('{{ $labels', '{{ `{{` }} $labels')
    .replaceAll(NUMBER, '$1')
    .replaceAll(
      MORE_FLAGS,
      (_, indent: string, container: string) =>
        `${indent}{{- range $name, $value := .Values.flags.${container} }}\n${indent}- {{ printf "--%s=%v" $name $value | quote }}\n${indent}{{- end }}`,
    );

/** Files of the Helm chart, by path in its folder. */
export function chartFiles(version: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const about = {
    apiVersion: 'v2',
    name: 'machine-controller-manager',
    description: 'Machines for Kubernetes: deployments, sets and machines, and the controller of one provider',
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.29.0-0',
  };
  files.set('Chart.yaml', stringify(about));
  files.set('values.yaml', valuesText());
  for (const { name, objects } of installSections(SYMBOLIC)) {
    if (name === 'crds') {
      for (const crd of installSections(DEFAULT_INSTALL)[0]?.objects ?? []) {
        files.set(`crds/${crdName(crd)}.yaml`, stringify(crd, { lineWidth: 0, aliasDuplicateObjects: false }));
      }
      continue;
    }
    const switched = `.Values.${name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}.enabled`;
    files.set(`templates/${name}.yaml`, `{{- if ${switched} }}\n${templated(objects)}{{- end }}\n`);
  }
  return files;
}

const crdName = (crd: object): string =>
  'metadata' in crd && typeof crd.metadata === 'object' && crd.metadata !== null && 'name' in crd.metadata
    ? String(crd.metadata.name)
    : '';

/** The chart's values: the same defaults as without Helm, with a word on each. */
function valuesText(): string {
  const { provider, replicas, kubeconfigs, configController, configDaemon, ...given } = DEFAULT_INSTALL;
  const images = { ...given.images, configController: configController.image, configDaemon: configDaemon.image };
  const resources = {
    ...given.resources,
    configController: configController.resources,
    configDaemon: configDaemon.resources,
  };
  const yaml = (value: object): string => stringify(value, { lineWidth: 0 });
  return [
    '# aws, azure, gcp or local; images.controller must be of the same.\n',
    yaml({ provider }),
    '# One of each container leads, the others stand by.\n',
    yaml({ replicas }),
    yaml({ images }),
    '# inClusterConfig, for the target none, or /etc/mcm/control/kubeconfig and /etc/mcm/target/kubeconfig: key kubeconfig of the\n# Secrets machine-controller-manager-control and machine-controller-manager-target.\n',
    yaml({ kubeconfigs }),
    '# Flags by name, without dashes: docs/reference/flags.md.\n',
    yaml({ flags: { manager: {}, controller: {}, configController: {}, configDaemon: {} } }),
    '# Processor time is not limited: a throttled controller loses its lease.\n',
    yaml({ resources }),
    '# Roles in the cluster of the machine objects.\n',
    yaml({ rbac: { enabled: true } }),
    '# Roles in the cluster of the nodes; switch off where that is another one, and install them there: mcm install --part=target\n',
    yaml({ targetRbac: { enabled: true } }),
    '# Defaulting and validation at admission, with self-made certificates.\n',
    yaml({ webhooks: { enabled: true } }),
    yaml({ workload: { enabled: true } }),
    '# A share of the API server that other requests cannot take.\n',
    yaml({ fairness: { enabled: true } }),
    '# The machine-config-controller with its CRDs and roles.\n',
    yaml({ machineConfig: { enabled: false } }),
    '# Its roles, and those of the daemons of nodes, in the cluster of the nodes.\n',
    yaml({ machineConfigTarget: { enabled: false } }),
    '# The machine-config-daemon as a privileged pod of each node, where systemd does not start it; with machineConfigTarget.\n',
    yaml({ machineConfigDaemon: { enabled: false } }),
    '# Refuses changes by hand that lose a VM: of provider IDs and of the controller’s finalizer.\n',
    yaml({ policies: { enabled: false } }),
    '# ServiceMonitor and PrometheusRule; needs the Prometheus operator.\n',
    yaml({ monitoring: { enabled: false } }),
  ].join('');
}
