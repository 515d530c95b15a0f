import { forbidden } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { child, items, look, type Plain } from '../../apimachinery/objects/plain.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { claimProblems, podProblems } from './constraints.ts';

const RANGES = '/limitranges';
const PODS = '/pods';
const CLAIMS = '/persistentvolumeclaims';
const ANNOTATION = 'kubernetes.io/limit-ranger';

function rangesOf({ store }: Registry, namespace: string): ApiObject[] {
  if (store.count(RANGES) === 0) return [];
  return store.list(RANGES, { namespace }).records.map((record) => JSON.parse(record.json) as ApiObject);
}

function fill(container: Plain, field: 'requests' | 'limits', defaults: Readonly<Plain>): string[] {
  const missing = Object.entries(defaults).filter(
    ([name]) => !Object.hasOwn(look(container, 'resources', field), name),
  );
  if (missing.length === 0) return [];
  const amounts = child(child(container, 'resources'), field);
  for (const [name, value] of missing) amounts[name] = value;
  return missing.map(([name]) => name).sort();
}

function applyDefaults(pod: ApiObject, ranges: readonly ApiObject[]): void {
  const said: string[] = [];
  const spec = look(pod, 'spec');
  for (const range of ranges) {
    const item = items(look(range, 'spec'), 'limits').find(({ type }) => type === 'Container');
    if (item === undefined) continue;
    for (const [list, words] of [
      ['containers', 'container'],
      ['initContainers', 'init container'],
    ] as const) {
      for (const container of items(spec, list)) {
        const limits = fill(container, 'limits', look(item, 'default'));
        const requests = fill(container, 'requests', look(item, 'defaultRequest'));
        if (requests.length > 0) said.push(`${requests.join(', ')} request for ${words} ${container.name}`);
        if (limits.length > 0) said.push(`${limits.join(', ')} limit for ${words} ${container.name}`);
      }
    }
  }
  if (said.length === 0) return;
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [ANNOTATION]: `LimitRanger plugin set: ${said.join('; ')}`,
  };
}

const isLimited = ({ served, subresource, operation }: AdmissionAttributes): boolean =>
  subresource === '' &&
  ((served.resource === PODS && operation === 'CREATE') ||
    (served.resource === CLAIMS && (operation === 'CREATE' || operation === 'UPDATE')));

/** @see kubernetes plugin/pkg/admission/limitranger */
export const limitRanger = (registry: Registry): AdmissionPlugin => ({
  name: 'LimitRanger',
  admit(attributes) {
    const { object, served, namespace } = attributes;
    if (served.resource !== PODS || !isLimited(attributes) || object === undefined) return undefined;
    applyDefaults(object, rangesOf(registry, namespace));
    return undefined;
  },
  validate(attributes) {
    const { object, served, namespace, name } = attributes;
    if (!isLimited(attributes) || object === undefined) return undefined;
    const problems = served.resource === PODS ? podProblems : claimProblems;
    const found = rangesOf(registry, namespace).flatMap((range) => [...problems(object, range)]);
    if (found.length === 0) return undefined;
    throw forbidden(served.kind, name, found.length === 1 ? (found[0] ?? '') : `[${found.join(', ')}]`);
  },
});
