import type { KindDefinition } from '../apimachinery/objects/kind.ts';

/**
 * The schema of a built-in kind has the name of its definition. The schema name of a custom kind starts with the
 * reversed group.
 */
export function schemaName(kind: KindDefinition): string {
  const id = kind.schema?.$id;
  if (id !== undefined) return id;
  const group = kind.group === '' ? 'core' : kind.group.split('.').reverse().join('.');
  return `${kind.custom ? '' : 'io.k8s.api.'}${group}.${kind.version}.${kind.kind}`;
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/**
 * Joins group and version to one word: `battery.example.dev/v1` → `BatteryExampleDevV1`. The word omits the suffix
 * `.k8s.io` of a group.
 */
function groupWord(kind: KindDefinition): string {
  const group = kind.group === '' ? 'core' : kind.custom ? kind.group : kind.group.replace(/\.k8s\.io$/, '');
  return `${group.split(/[.-]/).map(capital).join('')}${capital(kind.version)}`;
}

/** Returns the ID of an operation, such as `readCoreV1NamespacedPodStatus`. */
export function operationId(verb: string, kind: KindDefinition, scope: '' | 'Namespaced', suffix = ''): string {
  return `${verb}${groupWord(kind)}${scope}${kind.kind}${suffix}`;
}

/** Returns the tag for all operations of a group version, such as `apps_v1`. */
export function tagOf(kind: KindDefinition): string {
  const word = groupWord(kind);
  const group = word.slice(0, word.length - kind.version.length);
  return `${group.charAt(0).toLowerCase()}${group.slice(1)}_${kind.version}`;
}

/** Returns the root path of a group version: `/api/v1` or `/apis/group/version`. */
export const rootPath = (group: string, version: string): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
