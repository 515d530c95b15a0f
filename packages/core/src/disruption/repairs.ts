import type { Machine } from '@mcm/api';
import { createdAt, isBeingHandedOver, isFailed, isTerminating, neverJoined, phaseOf } from '../objects/machines.ts';
import { mayDeleteFailed, type NodeAnnotations } from '../objects/preservation.ts';
import { compareText, parseTime } from '../values/integers.ts';
import { type Ledger, type LedgerInput, ledgerOf, repairAllowance, repairRoom } from './ledger.ts';
import { replacementLimit } from './replacements.ts';
import type { OpenBreaker } from './silence.ts';

/** Everything that the decision about failed machines looks at: all machines of one deployment, or of a set of its own. */
export interface RepairSnapshot extends LedgerInput {
  /** `--max-unhealthy-replacements`: a count, or a percentage of the replicas. */
  readonly limit: number | string;
  /** A set of the deployment is being made smaller, and nobody knows yet what came of it: no repair begins meanwhile. */
  readonly unsettled?: boolean;
  /** The rollout is paused before its template is proven: failed machines of the current set stay, until then at least. */
  readonly keeps?: { readonly until: Date | undefined };
  /** The open breaker that holds the machine back, if nobody has overruled it. */
  readonly breakerOf: (machine: Machine) => OpenBreaker | undefined;
  readonly nodeAnnotations: NodeAnnotations;
}

/** A machine that is not replaced because many fell silent around it. */
export interface HeldMachine {
  readonly machine: Machine;
  readonly breaker: OpenBreaker;
}

/** Which failed machines are replaced now, and why the others are not. */
export interface RepairPlan {
  readonly ledger: Ledger;
  /** How many may be under way at once. */
  readonly allowance: number;
  /** To be deleted; their sets refill. */
  readonly go: readonly Machine[];
  /** Failed, and others go first. */
  readonly waiting: readonly Machine[];
  /** Failed or silent, and held back by a breaker. */
  readonly held: readonly HeldMachine[];
  /** Failed, and kept because the rollout is paused before its template is proven. */
  readonly kept: readonly Machine[];
  /** When to look again though nothing has happened. */
  readonly lookAgainAt: Date | undefined;
}

const failedAt = (machine: Machine): number =>
  parseTime(machine.status?.currentStatus?.lastUpdateTime) ?? createdAt(machine);

const longestFailedFirst = (a: Machine, b: Machine): number =>
  failedAt(a) - failedAt(b) || compareText(a.metadata.name, b.metadata.name);

const earliest = (...instants: readonly (Date | undefined)[]): Date | undefined =>
  instants.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined);

const isSilent = (machine: Machine): boolean => phaseOf(machine) === 'Unknown';
const isUnwell = (machine: Machine): boolean => isFailed(machine) || isSilent(machine);

/**
 * Decides which failed machines of a deployment are replaced now. Pure: every set of the deployment asks for the same
 * list and acts on its own part, so that together they keep to the limit.
 */
export function planRepairs(snapshot: RepairSnapshot): RepairPlan {
  const { current, old, leaving, keeps, breakerOf, nodeAnnotations, now } = snapshot;
  const ledger = ledgerOf(snapshot);
  const limit = replacementLimit(snapshot.limit, snapshot.replicas);
  const allowance = repairAllowance(ledger, limit);
  const unwell = [...old, ...(current ? [current] : [])].flatMap(({ machines }) => machines.filter(isUnwell));
  const held: HeldMachine[] = [];
  const due: Machine[] = [];
  const kept: Machine[] = [];
  const keepable = new Set(keeps ? current?.machines : []);
  for (const machine of unwell) {
    if (isTerminating(machine) || leaving?.(machine)) continue;
    const failed = isFailed(machine) && !isBeingHandedOver(machine) && mayDeleteFailed(machine, nodeAnnotations, now);
    if (!failed && !isSilent(machine)) continue;
    const breaker = breakerOf(machine);
    if (breaker) held.push({ machine, breaker });
    else if (failed && keepable.has(machine)) kept.push(machine);
    else if (failed) due.push(machine);
  }
  due.sort(longestFailedFirst);
  const go = snapshot.unsettled ? [] : chosen(due, ledger, limit);
  const waiting = due.filter((machine) => !go.includes(machine));
  const breakers = held.map(({ breaker }) => breaker.lookAgainAt);
  return {
    ledger,
    allowance,
    go,
    waiting,
    held,
    kept,
    lookAgainAt: earliest(
      ...breakers,
      waiting.length > 0 ? ledger.lateAt : undefined,
      kept.length > 0 ? keeps?.until : undefined,
    ),
  };
}

/**
 * Whose turn it is: whoever has failed for longest. Beside a rollout that is one queue, for its own machines and for
 * those it has yet to replace, so that neither keeps the other waiting for ever. Elsewhere one that never joined does not
 * wait until another one's successor runs, so that a deployment recovers from an outage of the cloud at the speed of
 * creation; it is within the limit all the same.
 */
function chosen(due: readonly Machine[], ledger: Ledger, limit: number): readonly Machine[] {
  const room = repairRoom(ledger, limit);
  if (ledger.rolling) return due.slice(0, room);
  const served = due.filter((machine) => !neverJoined(machine)).slice(0, room);
  const idle = Math.max(repairAllowance(ledger, limit) - ledger.holding - served.length, 0);
  return [...served, ...due.filter(neverJoined).slice(0, idle)];
}

/** Failed machines whose turn it is or will be: as long as there is one, a rollout gives up nothing that is available. */
export const hasFailures = ({ go, waiting }: RepairPlan): boolean => go.length + waiting.length > 0;

const MOST_NAMES = 5;

/** Names for a sentence. */
export const listed = (machines: readonly Machine[]): string => {
  const names = machines.slice(0, MOST_NAMES).map(({ metadata }) => metadata.name);
  const more = machines.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
};

/** Why failed machines are still there, as a sentence for people; undefined when none is. */
export function whyWaiting({ waiting, allowance, ledger }: RepairPlan): string | undefined {
  if (waiting.length === 0) return undefined;
  const parts = [
    ledger.leaving > 0 ? `${ledger.leaving} on their way out` : '',
    ledger.joining > 0 ? `${ledger.joining} being made` : '',
    ledger.updating > 0 ? `${ledger.updating} being updated in place` : '',
  ].filter((part) => part !== '');
  const cause = parts.length > 0 ? ` (${parts.join(', ')})` : '';
  const beside = ledger.rolling
    ? `, and with the rollout no more than ${Math.max(ledger.unavailable, 1)} be missing`
    : '';
  return `${listed(waiting)} failed and wait: at most ${allowance} may be replaced at once${beside}${cause}`;
}
