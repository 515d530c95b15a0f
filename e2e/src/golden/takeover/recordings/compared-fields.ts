import type { KubeObject } from '@mcm/kube';
import type { Names } from './names.ts';

type Fields = Readonly<Record<string, unknown>>;

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
  'timeAdded',
  'apiVersion',
  'nodeInfo',
  'addresses',
  'capacity',
  'allocatable',
]);
const SETS: Readonly<Record<string, readonly string[]>> = {
  conditions: ['type'],
  taints: ['key', 'effect'],
  tolerations: ['key', 'effect'],
  failedMachines: ['name'],
  ownerReferences: ['kind', 'name'],
};
const TIME = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| \+0000 UTC)/g;
const TOOK = /\b(\d+(?:\.\d+)?(?:h|m|µs|ms|s))+\b/g;

export type ComparedFields = ReadonlyMap<string, string>;

/** Returns the fields of an object that other programs read. */
export function comparedFieldsOf(object: KubeObject, names: Names): ComparedFields {
  const picture = new Map<string, string>();
  const text = (value: unknown): string => names.text(String(value)).replace(TIME, '<time>');
  const seen = new Map<string, number>();
  const label = (item: unknown, fields: readonly string[]): string => {
    const name = fields.map((field) => text((item as Fields)[field] ?? '')).join('/');
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count > 1 ? `${name} ${count}` : name;
  };
  const walk = (value: unknown, path: string): void => {
    if (Array.isArray(value)) {
      const by = SETS[path.split('.').at(-1) ?? ''];
      seen.clear();
      const items = value.map((item: unknown, index) => [by ? label(item, by) : String(index), item] as const);
      for (const [name, item] of items) walk(item, `${path}[${name}]`);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) if (!NOT_CONTRACT.has(key)) walk(inner, `${path}.${key}`);
    } else if (value !== undefined && value !== null && value !== '' && value !== 0 && value !== false)
      picture.set(path, valueAt(path, value, names, text));
  };
  walk(object, '');
  if (object.metadata.deletionTimestamp) picture.set('.metadata.deletionTimestamp', '<time>');
  return picture;
}

function valueAt(path: string, value: unknown, names: Names, text: (value: unknown) => string): string {
  if (path.endsWith('.machine-template-hash')) return names.hash(String(value));
  const canon = text(canonical(value));
  return path.endsWith('.description') ? canon.replace(TOOK, '<duration>') : canon;
}

export interface Difference {
  readonly path: string;
  readonly ours: string | undefined;
  readonly theirs: string | undefined;
}

export function differences(ours: ComparedFields, theirs: ComparedFields): readonly Difference[] {
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .map((path) => ({ path, ours: ours.get(path), theirs: theirs.get(path) }))
    .filter((one) => one.ours !== one.theirs);
}

export const inWords = ({ path, ours, theirs }: Difference): string =>
  `${path.slice(1)} is ${ours ?? 'absent'}, not ${theirs ?? 'absent'}`;

/** Parses JSON in an annotation, because the order of keys is not compared. */
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
