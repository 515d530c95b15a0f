import type { KubeObject } from '@mcm/kube';

/** Lists names in a text, up to a maximum. */
export function listed(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

export const listedNames = (objects: readonly KubeObject[]): string =>
  listed(objects.map(({ metadata }) => metadata.name));
