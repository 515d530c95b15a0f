import { formatTime, Labels, type Machine, TRUE_LOWER } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { isAvailable } from '../objects/machines.ts';
import { compareText } from '../values/integers.ts';

/** Matches seconds since 1970. The largest number of seconds is a time in the year 5138. */
const SECONDS = /^\d{1,11}$/;

/** Returns true if the value of the label postpones a rollout, unlike `false`. */
export const isPostponement = (value: string): boolean => /^(true|false)$/.test(value) || SECONDS.test(value);

export interface Postponement {
  /**
   * The time until which the label has an effect. If the time is undefined, the label has an effect until its removal.
   */
  readonly until: Date | undefined;
}

/**
 * Reads the label `rollout.machine.sapcloud.io/postpone` of a node.
 * @returns undefined if the label is absent, if its time has passed, or if its value is neither `true` nor seconds
 * since 1970
 */
export function postponementOf(node: Node | undefined, now: Date): Postponement | undefined {
  const value = node?.metadata.labels?.[Labels.RolloutPostpone];
  if (value === TRUE_LOWER) return { until: undefined };
  if (value === undefined || !SECONDS.test(value)) return undefined;
  const until = new Date(Number(value) * 1000);
  return until > now ? { until } : undefined;
}

export interface PostponedMachine extends Postponement {
  readonly machine: Machine;
}

/** Returns the available machines whose nodes postpone their replacement. */
export const postponedAmong = (
  machines: readonly Machine[],
  { nodeOf, now }: { readonly nodeOf?: ((name: string) => Node | undefined) | undefined; readonly now: Date },
): readonly PostponedMachine[] =>
  nodeOf === undefined
    ? []
    : machines.filter(isAvailable).flatMap((machine) => {
        const postponement = postponementOf(nodeOf(machine.metadata.labels?.[Labels.Node] ?? ''), now);
        return postponement === undefined ? [] : [{ machine, ...postponement }];
      });

const MOST_NAMES = 3;

/** Returns a text with the machines that postpone a rollout, and with the end of each postponement. */
export function whyPostponed(all: readonly PostponedMachine[]): string {
  const names = all
    .toSorted((a, b) => compareText(a.machine.metadata.name, b.machine.metadata.name))
    .slice(0, MOST_NAMES)
    .map(({ machine: { metadata }, until }) => {
      const node = metadata.labels?.[Labels.Node] ?? '';
      return `${metadata.name} (Node ${node}, ${until ? `until ${formatTime(until)}` : 'until a user removes the label from the Node'})`;
    });
  const more = all.length > MOST_NAMES ? ` and ${all.length - MOST_NAMES} more` : '';
  return `waiting: the label ${Labels.RolloutPostpone} postpones the update of ${names.join(', ')}${more}`;
}

/** Returns the earliest end of the postponements, or undefined if users or workloads must remove all labels. */
export const firstEnd = (all: readonly PostponedMachine[]): Date | undefined =>
  all
    .map(({ until }) => until)
    .filter((until) => until !== undefined)
    .toSorted((a, b) => a.getTime() - b.getTime())[0];
