import type { KubeObject } from '@mcm/kube';
import { countOf, involvedOf } from '../recordings/deletions.ts';
import type { Names } from '../recordings/names.ts';
import type { Recorded } from '../recordings/recording.ts';

export interface EventRule {
  readonly row: string;
  readonly what: string;
  excuses(difference: EventDifference): boolean;
}

interface EventDifference {
  readonly kind: string;
  readonly reason: string;
  readonly ours: number;
  readonly theirs: number;
}

const SCALING = 'ScalingMachineSet';
const SCALED = /Scaled (up|down) machine set (\S+) to (\d+)/;
/** Matches an event of mcm about several machines. */
const SEVERAL = /^(?:Created|Deleted) (\d+) [Mm]achines:/;

/** The reasons of events about Machines that mcm writes without special settings. */
const EVENTS_OF_MACHINE: ReadonlySet<string> = new Set([
  'CreationFailed',
  'DeletionBlocked',
  'EvictionUnavailable',
  'FailedToJoin',
  'HealthTimeout',
  'InPlaceUpdateFailed',
  'InvalidInput',
  'NodeDeleted',
  'NodeHealthy',
  'NodeMissing',
  'NodeUnhealthy',
  'PodDoesNotEnd',
  'PodsForcedOff',
  'PreservationEnded',
  'Preserved',
  'ReplacementHeld',
  'ReplacementResumed',
  'StaleNode',
  'VMUnknown',
  'VolumeStaysAttached',
]);

/** A rule must not depend on a case, a name or a number. */
export const EVENT_RULES: readonly EventRule[] = [
  {
    row: 'Events of a Machine',
    what: 'a machine has events about its node, its failures and its deletion, which the original does not write',
    excuses: ({ kind, reason, theirs }) => kind === 'Machine' && theirs === 0 && EVENTS_OF_MACHINE.has(reason),
  },
  {
    row: 'A machine with priority 1 while the replicas do not fall',
    what: 'a machine that is marked for deletion but not deleted gets an event',
    excuses: ({ kind, reason, theirs }) => kind === 'MachineDeployment' && reason === 'ScaleInPending' && theirs === 0,
  },
];

interface EventSide {
  readonly events: readonly KubeObject[];
  readonly names: Names;
}

/** Compares the events of mcm and of the original: for each kind of object, how often each reason occurred. */
export function compareEvents(
  ours: EventSide,
  theirs: EventSide,
  { openEnd }: { readonly openEnd: boolean },
): { readonly problems: readonly string[]; readonly used: ReadonlySet<EventRule> } {
  const [mine, wanted] = [tally(ours.events as readonly Recorded[]), tally(theirs.events as readonly Recorded[])];
  const problems = compareTurns(turnsOf(ours), turnsOf(theirs), openEnd);
  const used = new Set<EventRule>();
  for (const key of new Set([...mine.keys(), ...wanted.keys()])) {
    const [kind = '', type = '', reason = ''] = key.split(' ');
    const difference = { kind, reason, ours: mine.get(key) ?? 0, theirs: wanted.get(key) ?? 0 };
    if (difference.ours === difference.theirs) continue;
    const rule = EVENT_RULES.find((one) => one.excuses(difference));
    if (rule) used.add(rule);
    else if (!(openEnd && difference.theirs > 0 && difference.ours > difference.theirs))
      problems.push(
        `mcm wrote the ${type} event ${reason} of a ${kind} ${difference.ours} times, the original ${difference.theirs} times`,
      );
  }
  return { problems, used };
}

function tally(events: readonly Recorded[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.reason === SCALING) continue;
    const several = Number(SEVERAL.exec(String(event.message))?.[1] ?? 1);
    const key = `${involvedOf(event).kind} ${String(event.type)} ${String(event.reason)}`;
    counts.set(key, (counts.get(key) ?? 0) + countOf(event) * several);
  }
  return counts;
}

/** Returns the sizes at which a MachineSet stopped growing or shrinking. */
function turnsOf({ events, names }: EventSide): ReadonlyMap<string, readonly number[]> {
  const sizes = new Map<string, number[]>();
  const inOrder = [...(events as readonly Recorded[])].filter(({ reason }) => reason === SCALING).sort(byTime);
  for (const { message } of inOrder) {
    const [, , set = '', size = ''] = SCALED.exec(String(message)) ?? [];
    sizes.set(names.part(set), [...(sizes.get(names.part(set)) ?? []), Number(size)]);
  }
  return new Map([...sizes].map(([set, all]) => [set, turningPoints(all)]));
}

function compareTurns(
  ours: ReadonlyMap<string, readonly number[]>,
  theirs: ReadonlyMap<string, readonly number[]>,
  openEnd: boolean,
): string[] {
  const problems: string[] = [];
  for (const set of new Set([...theirs.keys(), ...ours.keys()])) {
    const [mine, wanted] = [ours.get(set) ?? [], theirs.get(set) ?? []];
    const isAhead = openEnd && wanted.slice(0, -1).every((size, index) => size === mine[index]);
    if (mine.join() !== wanted.join() && !isAhead)
      problems.push(`events contain a scaling of ${set} to ${print(mine)} instead of ${print(wanted)}`);
  }
  return problems;
}

const print = (sizes: readonly number[]): string => sizes.join(', then ') || 'nothing';

function turningPoints(sizes: readonly number[]): readonly number[] {
  return sizes.filter((size, index) => {
    const before = sizes[index - 1] ?? 0;
    const next = sizes[index + 1];
    return next === undefined || Math.sign(next - size) !== Math.sign(size - before);
  });
}

const byTime = (one: Recorded, other: Recorded): number => timeOf(one) - timeOf(other) || orderOf(one) - orderOf(other);
const timeOf = ({ firstTimestamp, metadata }: Recorded): number =>
  Date.parse(typeof firstTimestamp === 'string' ? firstTimestamp : metadata.creationTimestamp) || 0;
const orderOf = ({ metadata: { resourceVersion } }: Recorded): number => Number(resourceVersion) || 0;
