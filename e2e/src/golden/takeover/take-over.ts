import type { Outcome } from '../common/set.ts';
import { stepsAfter, unplayable } from './actions.ts';
import { compare, type Side, type Verdict } from './comparison/compare.ts';
import { lost } from './comparison/identity.ts';
import { openEndRules } from './comparison/open-end-rules.ts';
import { RULES } from './comparison/rules.ts';
import { MachineMapping } from './machine-mapping.ts';
import { Names } from './recordings/names.ts';
import { type Lens, objectsIn, PLAIN } from './recordings/object-states.ts';
import type { History, Recorded, State } from './recordings/recording.ts';
import { replayActions } from './replay-actions.ts';
import { complete, isAtRest, lastLeaving, machinesOf, without } from './stage/idle.ts';
import { load, type Uids } from './stage/load.ts';
import { paceOf, type RecordedPace } from './stage/pace.ts';
import { Stage } from './stage/stage.ts';
import { untilTimeout } from './stage/timeouts.ts';

const PATIENCE_MS = 180_000;
const LOOK_EVERY_MS = 2_000;
const REST_MS = 60_000;
const TOLD = 4;

export interface Checked extends Outcome {
  readonly used: ReadonlySet<Reason>;
  /** The number of steps of mcm that the recording may have missed. */
  readonly unseen?: number | undefined;
}

export interface Reason {
  readonly row: string;
  readonly what: string;
}

interface Ending {
  readonly states: readonly State[];
  readonly state: State;
  readonly end: State;
  readonly uids: Uids;
}

/**
 * Loads a recorded state, starts the controllers of mcm, and verifies that they reach the final state of the original.
 */
export async function takeOver(history: History, index: number, lens: Lens = PLAIN): Promise<Checked> {
  const all = history.states;
  const states = index < all.length - 1 ? complete(all) : all;
  const state = states[index];
  const end = states.at(-1);
  if (!state || !end) throw new Error(`${history.file} has no state ${index}`);
  const name = `take-over ${history.file} from ${state.at} s (${state.after})`;
  const use = 'take-over';
  const unknown = unplayable(states, index);
  if (unknown) return { name, use, failure: unknown, used: new Set() };
  let staged: Stage | undefined;
  const pace = paceOf(states.slice(index), () => staged, true);
  const stage = await Stage.open(history, { pace, lens });
  staged = stage;
  try {
    const uids = await load(stage, state);
    await finishBoots(stage, state, pace);
    const loaded = new Set(machinesOf(state).map(({ metadata }) => metadata.name));
    const mapping = new MachineMapping(stage, recordedFrom(states.slice(index)), loaded);
    stage.startControllers();
    await replayActions(stage, mapping, stepsAfter(states, index), uids);
    return { name, use, ...(await endsAlike(stage, { states, state, end, uids })) };
  } catch (error) {
    const failure = error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error);
    return { name, use, failure, used: new Set() };
  } finally {
    await stage.close();
  }
}

/** Completes the boot of VMs that were loaded without their Nodes. */
async function finishBoots(stage: Stage, { objects }: State, { loaded }: RecordedPace): Promise<void> {
  for (const [name, { joinAt }] of loaded)
    if (joinAt !== undefined && stage.cloud.vms.has(name) && !objects.has(`Node/${name}`))
      await stage.cloud.boot(name, stage.instantOf(joinAt) - stage.clock.now().getTime());
}

export const recordedFrom = (states: readonly State[]): readonly Recorded[] => [
  ...new Set(states.flatMap(({ objects }) => [...objects.values()])),
];

export const sideOf = async (stage: Stage): Promise<Side> => ({
  objects: await stage.objects(),
  names: new Names(objectsIn(stage.observer.lives)),
});

async function endsAlike(stage: Stage, ending: Ending): Promise<Omit<Checked, 'name' | 'use'>> {
  const { states, state, end } = ending;
  const names = new Names(recordedFrom(states.slice(states.indexOf(state))));
  const theirs: Side = { objects: [...end.objects.values()], names };
  const leaving = lastLeaving(end);
  const later: Side | undefined = leaving && { objects: [...without(end, leaving).values()], names };
  let verdict: Verdict = { problems: [], used: new Set() };
  for (let waited = 0; waited <= PATIENCE_MS; waited += LOOK_EVERY_MS) {
    const ours = await sideOf(stage);
    verdict = compare(ours, theirs, RULES);
    if (verdict.problems.length === 0) break;
    if (later && leaving && waited === PATIENCE_MS)
      verdict = compare(ours, later, [...RULES, ...openEndRules(leaving)]);
    await stage.clock.advance(LOOK_EVERY_MS);
  }
  if (verdict.problems.length === 0 && isAtRest(end)) {
    const restMs = Math.min(REST_MS, untilTimeout(await stage.objects(), stage.clock.now()));
    await stage.clock.advance(restMs);
    verdict = compare(await sideOf(stage), theirs, RULES);
  }
  const all = [...verdict.problems, ...(await replaced(stage, ending)), ...stage.failures];
  const failure = all.slice(0, TOLD).join(' | ');
  return { used: verdict.used, failure: failure || undefined };
}

/** Resolves with sentences about machines that mcm did not keep, and about additional machines that mcm created. */
async function replaced(stage: Stage, { states, state, uids }: Ending): Promise<readonly string[]> {
  const [machines, objects] = await Promise.all([stage.machines(), stage.objects()]);
  const before = new Set(machinesOf(state).map(({ metadata }) => metadata.uid));
  const later = states.slice(states.indexOf(state) + 1).flatMap(machinesOf);
  const made = new Set(later.map(({ metadata }) => metadata.uid).filter((uid) => !before.has(uid))).size;
  return [
    ...lost(states.slice(states.indexOf(state)), { machines, objects, vms: stage.cloud.vms, uids }),
    ...(stage.made > made ? [`mcm created ${stage.made} machines, but the original created ${made}`] : []),
  ];
}
