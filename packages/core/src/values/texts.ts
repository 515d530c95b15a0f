import type { KubeObject } from '@mcm/kube';

/** The text ends with the number of further items. */
export function listed(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

/** The text ends with the number of further objects. */
export const listedNames = (objects: readonly KubeObject[]): string =>
  listed(objects.map(({ metadata }) => metadata.name));
