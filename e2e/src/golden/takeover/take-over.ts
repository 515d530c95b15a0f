import type { Outcome } from '../set.ts';
import { conditionsOf, operationOf, stepsAfter } from './actions.ts';
import { compare } from './compare.ts';
import type { History, Recorded, State } from './recording.ts';
import { CARRIED_ON, RULES } from './rules.ts';
import { Stage } from './stage.ts';

/** How long ours may take after the last action, in virtual milliseconds. */
const PATIENCE_MS = 180_000;
const LOOK_EVERY_MS = 2_000;
/** How long an end must last that the original rested in. */
const REST_MS = 60_000;

const machinesOf = (state: State): readonly Recorded[] =>
  [...state.objects.values()].filter(({ kind }) => kind === 'Machine');

/** Machines of a state that the original kept: there at its end, and not leaving. */
const keptBy = (state: State, end: State): readonly Recorded[] =>
  machinesOf(state).filter(({ metadata: { name, uid } }) => {
    const last = end.objects.get(`Machine/${name}`)?.metadata;
    return last?.uid === uid && last.deletionTimestamp === undefined;
  });

/**
 * The part of a history that has an end: one that was cut off right after an action, with its work under way, ends where
 * that action began.
 */
function complete(states: readonly State[]): readonly State[] {
  const last = states.at(-1);
  const before = states.at(-2);
  return last && before && before.after !== last.after && !isAtRest(last) ? states.slice(0, -1) : states;
}

/** Loads a state, starts our controllers beside it, and wants the end that the original reached. */
export async function takeOver({ file, states: all }: History, index: number): Promise<Outcome> {
  const states = index < all.length - 1 ? complete(all) : all;
  const state = states[index];
  const first = states[0];
  const end = states.at(-1);
  if (!state || !first || !end) throw new Error(`${file} has no state ${index}`);
  const name = `take-over ${file} from ${state.at} s (${state.after})`;
  const stage = await Stage.open(first);
  try {
    await stage.load(state);
    stage.startControllers();
    await stage.play(stepsAfter(states, index));
    const failure = await endsAlike(stage, states, state, end);
    return failure === undefined ? { name } : { name, failure };
  } catch (error) {
    return { name, failure: error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error) };
  } finally {
    await stage.close();
  }
}

async function endsAlike(
  stage: Stage,
  states: readonly State[],
  state: State,
  end: State,
): Promise<string | undefined> {
  const theirs = [...end.objects.values()];
  const later = carriedOn(end);
  let problems: readonly string[] = [];
  for (let waited = 0; waited <= PATIENCE_MS; waited += LOOK_EVERY_MS) {
    const ours = await stage.objects();
    problems = compare(ours, theirs);
    if (problems.length === 0) break;
    if (later && waited === PATIENCE_MS) problems = compare(ours, later, [...RULES, ...CARRIED_ON]);
    await stage.clock.advance(LOOK_EVERY_MS);
  }
  if (problems.length === 0 && isAtRest(end)) {
    await stage.clock.advance(REST_MS);
    problems = compare(await stage.objects(), theirs);
  }
  return (
    [...problems, ...(await replaced(stage, states, state, end)), ...stage.failures].slice(0, 4).join(' | ') ||
    undefined
  );
}

/** The end without what was just leaving, when that is all that was under way; undefined otherwise. */
function carriedOn(end: State): readonly Recorded[] | undefined {
  const leaving = machinesOf(end).filter(
    (machine) => machine.metadata.deletionTimestamp !== undefined && operationOf(machine)?.state === 'Processing',
  );
  const names = new Set(leaving.map(({ metadata }) => metadata.name));
  const stays = new Map([...end.objects].filter(([key]) => !names.has(key.replace(/^(Machine|Node)\//, ''))));
  return leaving.length > 0 && isAtRest({ ...end, objects: stays }) ? [...stays.values()] : undefined;
}

/** Whether nothing was under way when the recording ended. */
const isAtRest = (end: State): boolean =>
  machinesOf(end).every(
    (machine) =>
      machine.metadata.deletionTimestamp === undefined &&
      conditionsOf(machine).some(({ status, type }) => type === 'Ready' && status === 'True'),
  );

/** The choice among equals is free; how many are kept and made is not. */
async function replaced(stage: Stage, states: readonly State[], state: State, end: State): Promise<readonly string[]> {
  const uids = new Set((await stage.machines()).map(({ metadata }) => metadata.uid));
  const survivors = machinesOf(state).filter((machine) => uids.has(stage.uidOf(machine) ?? '')).length;
  const kept = keptBy(state, end).length;
  const before = new Set(machinesOf(state).map(({ metadata }) => metadata.uid));
  const later = states.slice(states.indexOf(state) + 1).flatMap(machinesOf);
  const made = new Set(later.map(({ metadata }) => metadata.uid).filter((uid) => !before.has(uid))).size;
  return [
    ...(survivors < kept ? [`${survivors} of the machines are left, the original kept ${kept}`] : []),
    ...(stage.made > made ? [`${stage.made} machines were made, the original made ${made}`] : []),
  ];
}
