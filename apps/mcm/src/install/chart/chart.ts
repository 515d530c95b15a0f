import { stringify } from 'yaml';
import { grafanaFiles } from '../grafana/files.ts';
import { clusterApiBinding, fleetBinding, handOverBinding, profileBinding } from '../objects/fleet.ts';
import { podMonitors } from '../objects/monitoring.ts';
import { installSections } from '../objects/objects.ts';
import { type InstallSettings, NOT_IN_FLEET } from '../objects/settings.ts';
import type { ProgramFlags } from './chart-flags.ts';
import { CHECKS, HELPERS, NOTES } from './chart-helpers.ts';
import { filledIn, WHEN, withPlaces } from './chart-places.ts';
import { CHART, chartReadme, valuesSchema, valuesText } from './chart-values.ts';

/**
 * Matches a placeholder for a number that Helm inserts. A template for a number would become a quoted string in YAML,
 * so the objects contain a placeholder.
 */
const NUMBER = /["']?__number__(.*?)__["']?/g;
const number = (template: string): string => `__number__${template}__`;
const imageTemplate = (container: string): string =>
  `{{ include "mcm.image" (dict "root" . "container" "${container}") }}`;

const SYMBOLIC: InstallSettings = {
  namespace: '{{ .Release.Namespace }}',
  name: '{{ include "mcm.fullname" . }}',
  app: '{{ include "mcm.name" . }}',
  accounts: {
    manager: '{{ include "mcm.account" . }}',
    controller: '{{ include "mcm.controllerAccount" . }}',
    fleet: '{{ include "mcm.fleetAccount" . }}',
  },
  isSeparate: false,
  fleetNamespaces: '{{ include "mcm.fleetNamespaces" . }}',
  fleetFlags: { __cacheLimit__: '' },
  fleetPartition: number('{{ int .Values.fleet.partition }}'),
  provider: '{{ .Values.provider }}',
  replicas: number('{{ .Values.replicas }}'),
  images: { manager: imageTemplate('manager'), controller: imageTemplate('controller') },
  flags: { manager: { __flags__: 'manager' }, controller: { __hooks__: 'flag', __flags__: 'controller' } },
  kubeconfigs: { control: '{{ .Values.kubeconfigs.control }}', target: '{{ .Values.kubeconfigs.target }}' },
  resources: {
    manager: resourcesOf('manager'),
    controller: resourcesOf('controller'),
  },
  shares: number('{{ .Values.fairness.shares }}'),
  configController: {
    image: imageTemplate('configController'),
    flags: { __flags__: 'configController' },
    resources: resourcesOf('configController'),
  },
  dashboard: {
    image: imageTemplate('dashboard'),
    flags: { __flags__: 'dashboard' },
    resources: resourcesOf('dashboard'),
  },
  configDaemon: {
    image: imageTemplate('configDaemon'),
    flags: { __flags__: 'configDaemon' },
    resources: resourcesOf('configDaemon'),
  },
};

function resourcesOf(container: string) {
  const at = `.Values.resources.${container}`;
  return { cpu: `{{ ${at}.cpu }}`, memory: `{{ ${at}.memory }}`, memoryLimit: `{{ ${at}.memoryLimit }}` };
}

function templated(object: object): string {
  const { [WHEN]: condition, ...placed } = withPlaces(object) as Readonly<Record<string, unknown>>;
  const text = filledIn(stringify(placed, { lineWidth: 0, aliasDuplicateObjects: false }))
    .replaceAll('{{ $labels', '{{ `{{` }} $labels')
    .replaceAll(NUMBER, '$1');
  const document = `---\n${text}`;
  return typeof condition === 'string' ? `{{- if ${condition} }}\n${document}{{- end }}\n` : document;
}

/**
 * The RoleBindings of a fleet in the namespaces of its clusters. In a template, `range` changes the dot, and `with`
 * restores it.
 */
const FLEET_BINDINGS = `{{- range $cluster := .Values.fleet.namespaces }}
{{- with $ }}
${templated(fleetBinding(SYMBOLIC, '{{ $cluster }}'))}{{- if .Values.fleet.cacheLimit }}
${templated(handOverBinding(SYMBOLIC, '{{ $cluster }}'))}{{- end }}
{{- end }}
{{- end }}
{{- if .Values.fleet.clusters }}
${templated(clusterApiBinding(SYMBOLIC))}{{- end }}
{{- if .Values.fleet.clusterProfiles }}
${templated(profileBinding(SYMBOLIC))}{{- end }}
`;

const NEEDS: Readonly<Record<string, string>> = {
  webhooks: '.Values.workload.enabled',
  'network-policy': '.Values.workload.enabled',
  'separate-controller': '.Values.workload.enabled',
};

/** Returns the condition under which the chart contains the objects of a section. */
function conditionOf(section: string): string {
  const enabled = `.Values.${section.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}.enabled`;
  const conditions = [
    enabled,
    ...(NEEDS[section] === undefined ? [] : [NEEDS[section]]),
    ...(NOT_IN_FLEET.includes(section) ? ['(not .Values.fleet.enabled)'] : []),
  ];
  return conditions.length === 1 ? enabled : `and ${conditions.join(' ')}`;
}

/**
 * Returns the files of the Helm chart, by their path in the folder of the chart.
 * @param programs The flags that the chart accepts.
 */
export function chartFiles(version: string, programs: ProgramFlags): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const about = {
    apiVersion: 'v2',
    name: CHART.name,
    description: CHART.description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.29.0-0',
  };
  files.set('Chart.yaml', stringify(about));
  files.set('README.md', chartReadme(programs));
  files.set('values.yaml', valuesText(programs));
  files.set('values.schema.json', `${JSON.stringify(valuesSchema(programs), undefined, 2)}\n`);
  files.set('templates/_helpers.tpl', HELPERS);
  files.set('templates/checks.yaml', CHECKS);
  files.set('templates/NOTES.txt', NOTES);
  for (const [file, text] of grafanaFiles()) files.set(`dashboards/${file}`, text);
  for (const { name, objects } of installSections(SYMBOLIC)) {
    const all = name === 'monitoring' ? [...objects, ...podMonitors(SYMBOLIC)] : objects;
    const more = name === 'fleet' ? FLEET_BINDINGS : '';
    files.set(
      `templates/${name}.yaml`,
      `{{- if ${conditionOf(name)} }}\n${all.map(templated).join('')}${more}{{- end }}\n`,
    );
  }
  return files;
}
