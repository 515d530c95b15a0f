import type { DrainPlan } from '../../drain/drain.ts';
import type { Blocker } from '../../drain/model/blockers.ts';
import { nameOf } from '../../drain/model/blockers.ts';
import type { DrainMemory, DrainObservation, PodRef } from '../../drain/model/observation.ts';
import { listed } from '../../values/texts.ts';
import type { MachineObservation } from '../model/observation.ts';
import type { Action } from '../model/plan.ts';
import type { Operation } from '../model/status.ts';
import { at, operation, say } from './deletion-status.ts';

/** What a drain waits for is told anew after this at the earliest. */
const TELL_DRAIN_EVERY_MS = 5_000;

/** Pods that end sooner than this are not worth a status write that says that nothing holds them up any more. */
const PASSES_MS = 10_000;

/** A status write, or when one would be due. */
export interface Description {
  readonly actions: readonly Action[];
  readonly at?: Date;
}

/** The pods that are asked to go. */
export const evicting = (pods: readonly PodRef[]): string => at('drain', `Evicting ${listed(pods.map(nameOf))}.`);

/**
 * What holds the drain up stands in the status by name; pods that merely end take no write, unless the status would go on
 * telling of what held them up before.
 */
export function describeDrain(o: MachineObservation, drain: DrainObservation, plan: DrainPlan, now: Date): Description {
  const { wanted, from } =
    plan.blockers.length > 0 ? { wanted: blocked(plan.blockers), from: now } : freed(o, drain, plan);
  if (!wanted) return { actions: [] };
  // The events of a drain are of causes, see `tellings`; this list changes with every pod that comes and goes.
  const actions = say(o, wanted, now, namesTheSame).flatMap((action): Action[] =>
    action.do === 'writeStatus' ? [{ do: 'writeStatus', status: action.status, tellsDrain: true }] : [],
  );
  if (actions.length === 0) return { actions };
  const due = tellDrainAgainAt(drain.memory, now) ?? from;
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

/** Words of `blocked` above. */
const TELLS_OF_BLOCKERS = /^(Waiting: |Drain failed due to - )/;

/** What held the drain up does so no more: told when the pods that go now take their time. */
function freed(
  { machine }: MachineObservation,
  { memory }: DrainObservation,
  { leaving }: DrainPlan,
): { readonly wanted?: Operation; readonly from: Date } {
  const asked = leaving.map(({ uid }) => memory.attempts.get(uid)?.at.getTime() ?? 0);
  const from = new Date(Math.max(0, ...asked) + PASSES_MS);
  const stale = leaving.length > 0 && TELLS_OF_BLOCKERS.test(machine.status?.lastOperation?.description ?? '');
  return stale ? { wanted: operation(evicting(leaving)), from } : { from };
}

/** Whether two texts are of the same pods, budgets and volumes: in a long text another name would count as similar. */
function namesTheSame(a: string, b: string): boolean {
  const names = (text: string): string => [...new Set(text.match(/[\w.-]+\/[\w.-]+/g))].sort().join(' ');
  return names(a) === names(b);
}

/**
 * Two processes that remember different things of one drain, as for a while after a lease was lost, would each put
 * its own words over the other's, as fast as the API server answers: each waits a little before it says it anew.
 */
function tellDrainAgainAt({ toldAt }: DrainMemory, now: Date): Date | undefined {
  if (!toldAt || now < toldAt) return undefined;
  const due = new Date(toldAt.getTime() + TELL_DRAIN_EVERY_MS);
  return now < due ? due : undefined;
}

const texts = (blockers: readonly Blocker[]): string =>
  listed([...new Set(blockers.map(({ text }) => text))].sort(), 3);
