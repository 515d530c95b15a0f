import type { Plan, Step } from '../script/script.ts';

/** Returns true if a history with fewer actions still fails. */
export type StillFails = (plan: Plan) => Promise<boolean>;

/**
 * Shrinks a failed history by delta debugging: removes halves, quarters and so on, then single actions, and then
 * pauses.
 * @param most The maximum number of histories that the shrinking may run.
 */
export async function shrink(plan: Plan, stillFails: StillFails, most = 200): Promise<Plan> {
  let played = 0;
  let best = plan;
  const accept = async (candidate: Plan): Promise<boolean> => {
    if (played >= most) return false;
    played += 1;
    if (!(await stillFails(candidate))) return false;
    best = candidate;
    return true;
  };
  const none = { ...plan, steps: [] };
  if (plan.steps.length === 0 || (await accept(none))) return best;
  await leaveOut(() => best, accept);
  await leavePausesOut(() => best, accept);
  return best;
}

type Accept = (candidate: Plan) => Promise<boolean>;

async function leaveOut(best: () => Plan, accept: Accept): Promise<void> {
  let pieces = 2;
  while (best().steps.length > 1) {
    const { steps } = best();
    const size = Math.ceil(steps.length / pieces);
    const done = await leaveOnePieceOut(best(), size, accept);
    if (done) pieces = Math.max(2, pieces - 1);
    else if (size === 1) return;
    else pieces = Math.min(steps.length, pieces * 2);
  }
}

async function leaveOnePieceOut(plan: Plan, size: number, accept: Accept): Promise<boolean> {
  for (let from = 0; from < plan.steps.length; from += size) {
    const steps = plan.steps.filter((_, index) => index < from || index >= from + size);
    if (steps.length > 0 && (await accept({ ...plan, steps }))) return true;
  }
  return false;
}

async function leavePausesOut(best: () => Plan, accept: Accept): Promise<void> {
  const without = (steps: readonly Step[], index: number): Step[] =>
    steps.map((step, at) => (at === index ? { ...step, pauseMs: 0 } : step));
  for (let index = 0; index < best().steps.length; index += 1) {
    if (best().steps[index]?.pauseMs) await accept({ ...best(), steps: without(best().steps, index) });
  }
  if (best().lastPauseMs > 0) await accept({ ...best(), lastPauseMs: 0 });
}
