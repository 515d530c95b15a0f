import { isPlain, items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';

/** What a check finds wrong: in a word, and in detail ('' for none). */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

/** A pod, or the template of one. */
export interface PodLike {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Plain;
}

export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);

export const quoted = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(', ');

/** Each once, in order. */
export const sorted = (words: Iterable<string>): string[] => [...new Set(words)].sort();

/** All containers in the order in which violations name them. */
export const containersOf = (spec: Plain): Plain[] => [
  ...items(spec, 'initContainers'),
  ...items(spec, 'containers'),
  ...items(spec, 'ephemeralContainers'),
];

export const named = (containers: readonly Plain[]): string =>
  `${plural(containers.length, 'container')} ${quoted(containers.map((container) => text(container, 'name')))}`;

/** The security context of a pod or container; undefined when it says nothing. */
export const context = (holder: Plain): Plain => look(holder, 'securityContext');

export const isWindows = (spec: Plain): boolean => text(look(spec, 'os'), 'name') === 'windows';

/** Pods in a user namespace of their own may be root there. */
export const hasUserNamespace = (spec: Plain): boolean => spec.hostUsers === false;

/** Who sets what is wrong: the pod, some containers, or both. '' for nobody. */
export function setters(podDoes: boolean, containers: readonly Plain[]): string {
  return [...(podDoes ? ['pod'] : []), ...(containers.length > 0 ? [named(containers)] : [])].join(' and ');
}

/** Whether a field is there; Go knows no difference between null and absent. */
export const has = (holder: Plain, field: string): boolean => holder[field] !== undefined && holder[field] !== null;

/** The pod's own and each container's part of the security context called `field`, where there is one. */
export function parts(spec: Plain, field: string): { pod: Plain | undefined; containers: [Plain, Plain][] } {
  const own = context(spec)[field];
  const containers = containersOf(spec).flatMap((container): [Plain, Plain][] => {
    const part = context(container)[field];
    return isPlain(part) ? [[container, part]] : [];
  });
  return { pod: isPlain(own) ? own : undefined, containers };
}
