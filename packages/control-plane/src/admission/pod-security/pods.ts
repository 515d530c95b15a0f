import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { PodLike } from './words.ts';

const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  '/replicationcontrollers': ['spec', 'template'],
  '/podtemplates': ['template'],
  'apps/replicasets': ['spec', 'template'],
  'apps/deployments': ['spec', 'template'],
  'apps/statefulsets': ['spec', 'template'],
  'apps/daemonsets': ['spec', 'template'],
  'batch/jobs': ['spec', 'template'],
  'batch/cronjobs': ['spec', 'jobTemplate', 'spec', 'template'],
};

export const hasTemplate = (resource: string): boolean => Object.hasOwn(TEMPLATES, resource);

export const podOf = (pod: Plain | ApiObject): PodLike => ({
  annotations: look(pod, 'metadata', 'annotations') as Record<string, string>,
  spec: look(pod, 'spec'),
});

export function templateOf(resource: string, object: ApiObject): PodLike | undefined {
  const template = look(object, ...(TEMPLATES[resource] ?? []));
  return isRecord(template.spec) ? podOf(template) : undefined;
}

/** The plugin checks an update of a pod only if the update adds or removes a container, or changes an image. */
export function isSignificant(pod: ApiObject, old: ApiObject): boolean {
  const [next, before] = [look(pod, 'spec'), look(old, 'spec')];
  for (const field of ['containers', 'initContainers']) {
    const [now, then] = [items(next, field), items(before, field)];
    if (now.length !== then.length) return true;
    if (now.some((container, index) => text(container, 'image') !== text(then[index], 'image'))) return true;
  }
  const known = items(before, 'ephemeralContainers');
  return items(next, 'ephemeralContainers').some((container) => {
    const same = known.find(({ name }) => name === container.name);
    return same === undefined || text(same, 'image') !== text(container, 'image');
  });
}
