import type { KubeObject } from '@mcm/kube';

/** Lists names in a text. If there are too many names, the text ends with the number of further names. */
export function listed(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

/**
 * Lists the names of objects in a text. If there are too many objects, the text ends with the number of further
 * objects.
 */
export const listedNames = (objects: readonly KubeObject[]): string =>
  listed(objects.map(({ metadata }) => metadata.name));
