import type { KubeObject } from '@mcm/kube';

/** Returns the first items of a list as text, with the number of further items. */
export function listed(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

/** Returns the names of the first objects as text, with the number of further objects. */
export const listedNames = (objects: readonly KubeObject[]): string =>
  listed(objects.map(({ metadata }) => metadata.name));
