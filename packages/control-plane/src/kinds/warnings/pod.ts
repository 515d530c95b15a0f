import { labelProblems } from '../../apimachinery/errors/names.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { ipWarnings } from '../base/addresses.ts';
import { deprecatedLabel, labelMapWarnings, namedLabel, nodeSelectorWarnings, termWarnings } from './node-labels.ts';
import { fractionWarnings } from './quantities.ts';
import { overlapWarnings, sourceWarnings } from './volumes.ts';

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';
const NO_POD = 'a null labelSelector results in matching no pod';

const OLD_ANNOTATIONS: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
};
const SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead';
const APP_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead';

interface PlacedContainer {
  readonly container: Plain;
  readonly at: string;
}

const containersOf = (spec: Plain, at: string): PlacedContainer[] =>
  ['initContainers', 'containers'].flatMap((list) =>
    items(spec, list).map((container, index) => ({ container, at: `${at}.${list}[${index}]` })),
  );

function placementWarnings(spec: Plain, at: string): string[] {
  const node = look(spec, 'affinity', 'nodeAffinity');
  const path = `${at}.affinity.nodeAffinity`;
  return [
    ...labelMapWarnings(spec, (key) => `${at}.nodeSelector[${key}]`),
    ...nodeSelectorWarnings(node[REQUIRED], `${path}.${REQUIRED}`),
    ...items(node, PREFERRED).flatMap(({ preference }, index) =>
      termWarnings(preference, `${path}.${PREFERRED}[${index}].preference`),
    ),
    ...items(spec, 'topologySpreadConstraints').flatMap((constraint, index) => {
      const here = `${at}.topologySpreadConstraints[${index}]`;
      const key = namedLabel(`${here}.topologyKey`, text(constraint, 'topologyKey'));
      return constraint.labelSelector === undefined ? [...key, `${here}.labelSelector: ${NO_POD}`] : key;
    }),
  ];
}

function annotationWarnings(meta: Plain, spec: Plain, at: string): string[] {
  const annotations = look(meta, 'annotations');
  const warned = (key: string, why: string): string[] =>
    Object.hasOwn(annotations, key) ? [`${at}[${key}]: ${why}`] : [];
  const all = containersOf(spec, '').map(({ container }) => text(container, 'name'));
  return [
    ...Object.entries(OLD_ANNOTATIONS).flatMap(([key, why]) => warned(key, why)),
    ...all.flatMap((name) => warned(`container.apparmor.security.beta.kubernetes.io/${name}`, APP_ARMOR)),
    ...warned('seccomp.security.alpha.kubernetes.io/pod', SECCOMP),
    ...all.flatMap((name) => warned(`container.seccomp.security.alpha.kubernetes.io/${name}`, SECCOMP)),
  ];
}

function repeated(list: readonly Plain[], field: string, at: (index: number) => string): string[] {
  const seen = new Set<string>();
  const what = field === 'ip' ? 'ip' : 'name';
  return list.flatMap((item, index) => {
    const value = text(item, field);
    if (!seen.has(value)) {
      seen.add(value);
      return [];
    }
    return [`${at(index)}: duplicate ${what} ${JSON.stringify(value)}`];
  });
}

function secretWarnings(spec: Plain, at: string): string[] {
  const secrets = items(spec, 'imagePullSecrets');
  const where = (index: number): string => `${at}.imagePullSecrets[${index}].name`;
  return [
    ...repeated(secrets, 'name', where),
    ...secrets.flatMap((secret, index) =>
      text(secret, 'name') === '' ? [`${where(index)}: invalid empty name ""`] : [],
    ),
  ];
}

/**
 * Warns about an environment variable that replaces an earlier variable with the same name. If the value refers to the
 * earlier variable, no warning is necessary.
 */
function variableWarnings(container: Plain, at: string): string[] {
  const seen = new Set<string>();
  return items(container, 'env').flatMap((variable, index) => {
    const name = text(variable, 'name');
    const value = text(variable, 'value');
    const ref = `$(${name})`;
    const hides = seen.has(name) && (variable.valueFrom !== undefined || value === ref || !value.includes(ref));
    seen.add(name);
    const why = `hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`;
    return hides ? [`${at}.env[${index}]: ${why}`] : [];
  });
}

function containerWarnings({ container, at }: PlacedContainer): string[] {
  const bytes = ['memory', 'ephemeral-storage'];
  const resources = look(container, 'resources');
  return [
    ...['limits', 'requests'].flatMap((list) => fractionWarnings(resources, list, bytes, `${at}.resources`)),
    ...variableWarnings(container, at),
  ];
}

function clash(port: Plain, other: Plain): string | undefined {
  const [host, otherHost] = [number(port, 'hostPort') ?? 0, number(other, 'hostPort') ?? 0];
  const [ip, otherIp] = [text(port, 'hostIP'), text(other, 'hostIP')];
  if (host === otherHost && ip === otherIp) return 'duplicate';
  if (host === 0 || otherHost === 0) return 'overlapping';
  if (host === otherHost && (ip === '' || otherIp === '')) return 'dangerously ambiguous';
  return undefined;
}

const hostAddressWarnings = (containers: readonly PlacedContainer[]): string[] =>
  containers.flatMap(({ container, at }) =>
    items(container, 'ports').flatMap((port, index) => {
      const ip = text(port, 'hostIP');
      if (ip === '' || (number(port, 'hostPort') ?? 0) !== 0) return [];
      const shown = `{Name:${text(port, 'name')} HostPort:0 ContainerPort:${number(port, 'containerPort') ?? 0} Protocol:${text(port, 'protocol')} HostIP:${ip}}`;
      return [`${at}.ports[${index}]: hostIP set without hostPort: ${shown}`];
    }),
  );

function portWarnings(containers: readonly PlacedContainer[]): string[] {
  const seen = new Map<string, { readonly port: Plain; readonly at: string }[]>();
  const warnings: string[] = [];
  for (const { container, at } of containers) {
    for (const [index, port] of items(container, 'ports').entries()) {
      const here = `${at}.ports[${index}]`;
      const key = `${number(port, 'containerPort')}/${text(port, 'protocol')}`;
      const others = seen.get(key) ?? [];
      for (const other of others) {
        const how = clash(port, other.port);
        if (how !== undefined) warnings.push(`${here}: ${how} port definition with ${other.at}`);
      }
      seen.set(key, [...others, { port, at: here }]);
    }
  }
  return warnings;
}

function podAffinityWarnings(spec: Plain, at: string): string[] {
  return ['podAffinity', 'podAntiAffinity'].flatMap((kind) => {
    const affinity = look(spec, 'affinity', kind);
    const path = `${at}.affinity.${kind}`;
    const check = (term: Plain, here: string): string[] =>
      term.labelSelector === undefined ? [`${here}.labelSelector: ${NO_POD}`] : [];
    return [
      ...items(affinity, REQUIRED).flatMap((term, index) => check(term, `${path}.${REQUIRED}[${index}]`)),
      ...items(affinity, PREFERRED).flatMap((term, index) =>
        check(look(term, 'podAffinityTerm'), `${path}.${PREFERRED}[${index}].podAffinityTerm`),
      ),
    ];
  });
}

export function podTemplateWarnings(template: unknown, at: string): string[] {
  const spec = look(template, 'spec');
  const here = `${at}spec`;
  const containers = containersOf(spec, here);
  const grace = number(spec, 'terminationGracePeriodSeconds') ?? 0;
  const why = 'must be >= 0; negative values are invalid and will be treated as 1';
  return [
    ...placementWarnings(spec, here),
    ...annotationWarnings(look(template, 'metadata'), spec, `${at}metadata.annotations`),
    ...items(spec, 'volumes').flatMap((volume, index) => sourceWarnings(volume, `${here}.volumes[${index}]`)),
    ...items(spec, 'volumes').flatMap((volume, index) =>
      ['requests', 'limits'].flatMap((list) =>
        fractionWarnings(
          look(volume, 'ephemeral', 'volumeClaimTemplate', 'spec', 'resources'),
          list,
          ['storage'],
          `${here}.volumes[${index}].ephemeral.volumeClaimTemplate.spec.resources`,
        ),
      ),
    ),
    ...items(spec, 'volumes').flatMap(overlapWarnings),
    ...repeated(items(spec, 'hostAliases'), 'ip', (index) => `${here}.hostAliases[${index}].ip`),
    ...secretWarnings(spec, here),
    ...containers.flatMap(containerWarnings),
    ...hostAddressWarnings(containers),
    ...portWarnings(containers),
    ...(grace < 0 ? [`${here}.terminationGracePeriodSeconds: ${why}`] : []),
    ...podAffinityWarnings(spec, here),
    ...strings(look(spec, 'dnsConfig'), 'nameservers').flatMap((server, index) =>
      ipWarnings(`${here}.dnsConfig.nameservers[${index}]`, server),
    ),
    ...items(spec, 'hostAliases').flatMap((alias, index) =>
      ipWarnings(`${here}.hostAliases[${index}].ip`, text(alias, 'ip')),
    ),
  ];
}

export function nameWarnings(object: ApiObject, where: string): string[] {
  const problems = labelProblems(object.metadata.name ?? '');
  if (problems.length === 0) return [];
  const why = `this is used in ${where}, which can result in surprising behavior; a DNS label is recommended`;
  return [`metadata.name: ${why}: [${problems.join(' ')}]`];
}

/** Returns the warnings for a new pod. An update causes no warnings, because controllers change pods often. */
export const podWarnings = (pod: ApiObject, old: ApiObject | undefined): string[] =>
  old === undefined ? [...nameWarnings(pod, "the Pod's hostname"), ...podTemplateWarnings(pod, '')] : [];

export const topologyWarnings = (storageClass: ApiObject): string[] =>
  items(storageClass, 'allowedTopologies').flatMap((term, index) =>
    items(term, 'matchLabelExpressions').flatMap((expression, position) => {
      const why = deprecatedLabel(text(expression, 'key'));
      const at = `allowedTopologies[${index}].matchLabelExpressions[${position}].key`;
      return why === undefined ? [] : [`${at}: ${why}`];
    }),
  );
