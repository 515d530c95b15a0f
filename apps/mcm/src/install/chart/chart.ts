import { stringify } from 'yaml';
import { installSections } from '../objects/objects.ts';
import { DEFAULT_INSTALL, type InstallSettings, imageOf } from '../objects/settings.ts';
import { filledIn, withPlaces } from './chart-places.ts';
import { valuesSchema, valuesText } from './chart-values.ts';

/** A placeholder for a number that Helm inserts, because YAML would quote the template. */
const NUMBER = /["']?__number__(.*?)__["']?/g;
const number = (template: string): string => `__number__${template}__`;
/** Settings with templates as values: the chart contains the same objects as the other installations. */
const SYMBOLIC: InstallSettings = {
  namespace: '{{ .Release.Namespace }}',
  provider: '{{ .Values.provider }}',
  replicas: number('{{ .Values.replicas }}'),
  images: {
    manager: '{{ .Values.images.manager }}',
    controller: `{{ .Values.images.controller | default (printf \`${imageOf('%s')}\` .Values.provider) }}`,
  },
  flags: { manager: { __flags__: 'manager' }, controller: { __flags__: 'controller' } },
  kubeconfigs: { control: '{{ .Values.kubeconfigs.control }}', target: '{{ .Values.kubeconfigs.target }}' },
  resources: {
    manager: resourcesOf('manager'),
    controller: resourcesOf('controller'),
  },
  shares: number('{{ .Values.fairness.shares }}'),
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
  filledIn(
    objects
      .map((object) => stringify(withPlaces(object), { lineWidth: 0, aliasDuplicateObjects: false }))
      .join('---\n')
      .replaceAll('{{ $labels', '{{ `{{` }} $labels')
      .replaceAll(NUMBER, '$1'),
  );

/** The files of the Helm chart, by path in its folder. */
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
  files.set('values.schema.json', `${JSON.stringify(valuesSchema(), undefined, 2)}\n`);
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
