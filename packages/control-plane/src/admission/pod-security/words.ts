import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';

export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export interface PodLike {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Plain;
}

export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);

export const quoted = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(', ');

export const sorted = (words: Iterable<string>): string[] => [...new Set(words)].sort();

/** Returns the containers in the order of the violation messages. */
export const containersOf = (spec: Plain): Plain[] => [
  ...items(spec, 'initContainers'),
  ...items(spec, 'containers'),
  ...items(spec, 'ephemeralContainers'),
];

export const named = (containers: readonly Plain[]): string =>
  `${plural(containers.length, 'container')} ${quoted(containers.map((container) => text(container, 'name')))}`;

export const context = (holder: Plain): Plain => look(holder, 'securityContext');

export const isWindows = (spec: Plain): boolean => text(look(spec, 'os'), 'name') === 'windows';

/** A pod with a user namespace may run as root within its namespace. */
export const hasUserNamespace = (spec: Plain): boolean => spec.hostUsers === false;

export function setters(podDoes: boolean, containers: readonly Plain[]): string {
  return [...(podDoes ? ['pod'] : []), ...(containers.length > 0 ? [named(containers)] : [])].join(' and ');
}

/** Null counts as absent, because Go does not distinguish null fields and absent fields. */
export const has = (holder: Plain, field: string): boolean => holder[field] !== undefined && holder[field] !== null;

export function parts(spec: Plain, field: string): { pod: Plain | undefined; containers: [Plain, Plain][] } {
  const own = context(spec)[field];
  const containers = containersOf(spec).flatMap((container): [Plain, Plain][] => {
    const part = context(container)[field];
    return isRecord(part) ? [[container, part]] : [];
  });
  return { pod: isRecord(own) ? own : undefined, containers };
}
