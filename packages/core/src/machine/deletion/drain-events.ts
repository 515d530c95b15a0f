import type { DrainPlan } from '../../drain/drain.ts';
import type { Blocker, ReportReason } from '../../drain/model/blockers.ts';
import type { DrainMemory, DrainObservation } from '../../drain/model/observation.ts';
import { listed } from '../../values/texts.ts';
import type { Action } from '../model/plan.ts';

type Telling = Extract<Action, { do: 'reportDrain' }>;

interface News {
  readonly reason: ReportReason;
  readonly cause: string;
  readonly blocker: Blocker;
}

/**
 * Returns the events about blockers of a drain. If a reported budget blocks more pods, mcm sends no further event,
 * because the user must change only the budget.
 */
export function blockerEvents(
  { memory, forcedBy }: DrainObservation,
  { blockers, leftAttached }: DrainPlan,
): Telling[] {
  const news = newsOf([...leftAttached, ...blockers], memory);
  return [...Map.groupBy(news, ({ reason }) => reason)].map(([reason, found]) => ({
    do: 'reportDrain',
    causes: found.map(({ cause }) => cause),
    event: {
      type: 'Warning',
      reason,
      message: MESSAGES[reason](
        found.map(({ blocker }) => blocker),
        forcedBy,
      ),
    },
  }));
}

function newsOf(blockers: readonly Blocker[], { reported }: DrainMemory): readonly News[] {
  const news = new Map<string, News>();
  for (const blocker of blockers) {
    const { event } = blocker;
    if (event && !reported?.has(event.cause) && !news.has(event.cause)) news.set(event.cause, { ...event, blocker });
  }
  return [...news.values()];
}

type Message = (blockers: readonly Blocker[], forcedBy: string | undefined) => string;

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

const textsOf = (blockers: readonly Blocker[]): string => listed(blockers.map(({ text }) => text).sort(), 3);

const withHint = (text: string, blockers: readonly Blocker[]): string => {
  const [hint, ...others] = new Set(blockers.map((blocker) => blocker.hint));
  return others.length === 0 ? `${text}; ${hint}` : text;
};

const MESSAGES: Readonly<Record<ReportReason, Message>> = {
  DeletionBlocked: (blockers) => withHint(`Drain failed due to - ${textsOf(blockers)}`, blockers),
  DrainFailed: (blockers) => withHint(capital(textsOf(blockers)), blockers),
  PodDoesNotEnd: (blockers, forcedBy = 'force-deletion=true') => {
    const [first, ...others] = blockers;
    if (first && others.length === 0) return `${capital(first.text)}: ${first.hint}`;
    const pods = listed(blockers.flatMap(({ pods: names = [] }) => names).sort());
    return `Pods ${pods} do not terminate. Check the finalizers of the pods and the kubelet. The label ${forcedBy} on the machine ends the wait`;
  },
  VolumeStaysAttached: (blockers) => withHint(`The drain continues: ${textsOf(blockers)}`, blockers),
};
