import type { KubeObject } from '@mcm/kube';

type Fields = Readonly<Record<string, unknown>>;

/** Given by the server, or a time. */
const NOT_CONTRACT = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'generation',
  'generateName',
  'managedFields',
  'observedGeneration',
  'deletionGracePeriodSeconds',
  'selfLink',
  'lastUpdateTime',
  'lastTransitionTime',
  'lastHeartbeatTime',
  'lastProbeTime',
  'timeoutActive',
  'apiVersion',
  'blockOwnerDeletion',
  'nodeInfo',
  'addresses',
  'capacity',
  'allocatable',
]);
/** Lists whose order says nothing, and the field that tells their items apart. */
const SETS: Readonly<Record<string, string>> = {
  conditions: 'type',
  taints: 'key',
  failedMachines: 'name',
};
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
/** A set is named after a hash of its template: its own row in the table of differences. */
const SET_NAME = /\b([a-z][a-z0-9-]*)-[0-9a-f]{5}\b/g;
const JOINED_IN = /(successfully joined the cluster)(?: in \S+)?/;

/** One object's contract, flat: path to value. */
export type Picture = ReadonlyMap<string, string>;

/** The contract of an object: what tools may rely on, names of machines written as those of their sets. */
export function pictureOf(object: KubeObject, machines: ReadonlySet<string>): Picture {
  const picture = new Map<string, string>();
  const text = (value: unknown): string =>
    [...machines]
      .reduce((all, name) => all.replaceAll(name, name.replace(/-[^-]+-[^-]+$/, '-<set>-<machine>')), String(value))
      .replace(SET_NAME, '$1-<set>')
      .replace(TIME, '<time>')
      .replace(JOINED_IN, '$1');
  const walk = (value: unknown, path: string): void => {
    if (Array.isArray(value)) {
      const by = SETS[path.split('.').at(-1) ?? ''];
      const items = value.map(
        (item: unknown, index) => [by ? text((item as Fields)[by]) : String(index), item] as const,
      );
      for (const [name, item] of items) walk(item, `${path}[${name}]`);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) if (!NOT_CONTRACT.has(key)) walk(inner, `${path}.${key}`);
    } else if (value !== undefined && value !== null && value !== '' && value !== 0 && value !== false)
      picture.set(path, path.endsWith('.machine-template-hash') ? '<hash>' : text(canonical(value)));
  };
  walk(object, '');
  return picture;
}

/** Where two pictures differ, as `path: ours, not theirs`. */
export function differences(ours: Picture, theirs: Picture): readonly string[] {
  const paths = [...new Set([...theirs.keys(), ...ours.keys()])];
  return paths
    .filter((path) => ours.get(path) !== theirs.get(path))
    .map((path) => `${path.slice(1)} is ${ours.get(path) ?? 'absent'}, not ${theirs.get(path) ?? 'absent'}`);
}

/** JSON in an annotation: the order of its keys says nothing. */
function canonical(value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith('{')) return value;
  try {
    return JSON.stringify(sorted(JSON.parse(value)));
  } catch (error) {
    if (error instanceof SyntaxError) return value;
    throw error;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
