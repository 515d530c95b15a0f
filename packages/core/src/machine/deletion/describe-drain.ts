import type { DrainPlan } from '../../drain/drain.ts';
import type { Blocker } from '../../drain/model/blockers.ts';
import { nameOf } from '../../drain/model/blockers.ts';
import type { DrainMemory, DrainObservation, PodRef } from '../../drain/model/observation.ts';
import { listed } from '../../values/texts.ts';
import type { MachineObservation } from '../model/observation.ts';
import type { Action } from '../model/plan.ts';
import type { Operation } from '../model/status.ts';
import { at, operation, say } from './deletion-status.ts';

/** The minimum time between two status writes about the blockers of a drain. */
const REPORT_DRAIN_EVERY_MS = 5_000;

/** The status reports the end of a blocked drain only if the remaining pods need more than this time to end. */
const PASSES_MS = 10_000;

export interface Description {
  readonly actions: readonly Action[];
  readonly at?: Date;
}

export const evicting = (pods: readonly PodRef[]): string => at('drain', `Evicting ${listed(pods.map(nameOf))}.`);

export function describeDrain(o: MachineObservation, drain: DrainObservation, plan: DrainPlan, now: Date): Description {
  const { wanted, from } =
    plan.blockers.length > 0 ? { wanted: blocked(plan.blockers), from: now } : freed(o, drain, plan);
  if (!wanted) return { actions: [] };
  // The status changes with every pod, so the status write sends no event.
  const drainFailed = plan.undrained === 'Fail' ? plan.blockers.map(({ text }) => text).join('; ') : undefined;
  const actions = say(o, wanted, now, { alike: namesTheSame, drainFailed }).flatMap((action): Action[] =>
    action.do === 'writeStatus' ? [{ do: 'writeStatus', status: action.status, reportsDrain: true }] : [],
  );
  if (actions.length === 0) return { actions };
  const due = reportDrainAgainAt(drain.memory, now) ?? from;
  return now < due ? { actions: [], at: due } : { actions };
}

function blocked(blockers: readonly Blocker[]): Operation {
  const broken = blockers.filter(({ failed }) => failed);
  const slow = blockers.filter(({ failed }) => !failed);
  const also = slow.length > 0 ? `; waiting: ${texts(slow)}` : '';
  return broken.length > 0
    ? operation(at('drain', `Drain failed due to - ${texts(broken)}${also}. Will retry in next sync.`), 'Failed')
    : operation(at('drain', `Waiting: ${texts(blockers)}.`));
}

const REPORTS_OF_BLOCKERS = /^(Waiting: |Drain failed due to - )/;

/**
 * Replaces the report about blockers after the drain is no longer blocked, if the remaining pods need a long time to
 * end.
 */
function freed(
  { machine }: MachineObservation,
  { memory }: DrainObservation,
  { leaving }: DrainPlan,
): { readonly wanted?: Operation; readonly from: Date } {
  const asked = leaving.map(({ uid }) => memory.attempts.get(uid)?.at.getTime() ?? 0);
  const from = new Date(Math.max(0, ...asked) + PASSES_MS);
  const stale = leaving.length > 0 && REPORTS_OF_BLOCKERS.test(machine.status?.lastOperation?.description ?? '');
  return stale ? { wanted: operation(evicting(leaving)), from } : { from };
}

/** Returns true if two texts contain equal object names. */
function namesTheSame(a: string, b: string): boolean {
  const names = (text: string): string => [...new Set(text.match(/[\w.-]+\/[\w.-]+/g))].sort().join(' ');
  return names(a) === names(b);
}

/**
 * When another process takes over the Lease, two processes may drain one machine for a moment. The delay limits how
 * often two processes overwrite the status of one machine.
 */
function reportDrainAgainAt({ reportedAt }: DrainMemory, now: Date): Date | undefined {
  if (!reportedAt || now < reportedAt) return undefined;
  const due = new Date(reportedAt.getTime() + REPORT_DRAIN_EVERY_MS);
  return now < due ? due : undefined;
}

const texts = (blockers: readonly Blocker[]): string =>
  listed([...new Set(blockers.map(({ text }) => text))].sort(), 3);
