import { stepsAfter, unplayable } from './actions.ts';
import { align } from './comparison/align.ts';
import { compare, type Side } from './comparison/compare.ts';
import { compareEvents } from './comparison/event-counts.ts';
import { matchAll } from './comparison/match.ts';
import { openEndRules } from './comparison/open-end-rules.ts';
import { RULES } from './comparison/rules.ts';
import { coursesOf } from './comparison/sequences.ts';
import { MachineMapping } from './machine-mapping.ts';
import { inWords } from './recordings/compared-fields.ts';
import { Names } from './recordings/names.ts';
import { type Lens, type ObjectStates, PLAIN, statesByObject } from './recordings/object-states.ts';
import { type History, type Section, type State, sectionsOf } from './recordings/recording.ts';
import { replayActions } from './replay-actions.ts';
import { complete, isAtRest, isSettled, lastLeaving, without } from './stage/idle.ts';
import { paceOf } from './stage/pace.ts';
import { Stage } from './stage/stage.ts';
import { untilTimeout } from './stage/timeouts.ts';
import { type Checked, type Reason, recordedFrom, sideOf } from './take-over.ts';

const PATIENCE_MS = 180_000;
const LOOK_EVERY_MS = 1_000;
const USERS_PATIENCE_MS = 10_000;
const USE = 'same contract';
const TOLD = 4;

interface Findings {
  readonly depth: number;
  readonly problems: readonly string[];
  readonly used: ReadonlySet<Reason>;
  readonly unseen?: number | undefined;
}

/** Repeats the user's actions in a recording with the controllers of mcm, from the start of the recording. */
class Replay {
  readonly #history: History;
  readonly #states: readonly State[];
  readonly #stage: Stage;
  readonly #mapping: MachineMapping;
  readonly #names: Names;
  readonly #lives: readonly ObjectStates[];
  readonly #uids = new Map<string, string>();

  constructor(history: History, stage: Stage) {
    this.#history = history;
    this.#states = complete(history.states);
    this.#stage = stage;
    const recorded = recordedFrom(this.#states);
    this.#mapping = new MachineMapping(stage, recorded, new Set());
    this.#names = new Names(recorded);
    this.#lives = statesByObject(this.#states);
  }

  /**
   * Yields a result for each action of the user, after the fleet has become stable. The last result is for the order of
   * all changes.
   */
  async *run(): AsyncGenerator<Checked> {
    const sections = sectionsOf(this.#states);
    for (const [index, section] of sections.entries()) {
      const isLast = index === sections.length - 1;
      const outcome = await this.#section(section, isLast);
      if (outcome) yield outcome;
    }
  }

  async #section(section: Section, isLast: boolean): Promise<Checked | undefined> {
    const end = this.#states[section.last];
    if (!end) return undefined;
    const name = `same contract ${this.#history.file} after ${this.#states[section.first]?.at} s (${section.after})`;
    try {
      const steps = stepsAfter(this.#states, undefined).slice(section.first, section.last + 1);
      await replayActions(this.#stage, this.#mapping, steps, this.#uids);
      if (isLast) return { name, use: USE, ...reported(await this.#atTheEnd(end)) };
      const next = this.#states[section.last + 1]?.at ?? end.at;
      if (!isSettled(end, next)) {
        await this.#stage.reach(next);
        return undefined;
      }
      await this.#stage.reach(Math.max(next - 0.1, end.at));
      return { name, use: USE, ...reported(await this.#until(await this.#usersPatience(), () => this.#objects(end))) };
    } catch (error) {
      return {
        name,
        use: USE,
        ...reported({ problems: [error instanceof Error ? error.message : String(error)], used: new Set() }),
      };
    }
  }

  async #usersPatience(): Promise<number> {
    const { clock } = this.#stage;
    return Math.min(USERS_PATIENCE_MS, untilTimeout(await this.#stage.objects(), clock.now()));
  }

  /** Compares the objects with the recording repeatedly until they are equal. */
  async #until(patienceMs: number, look: () => Promise<Findings>): Promise<Findings> {
    let nearest: Findings | undefined;
    for (let waited = 0; waited <= patienceMs; waited += LOOK_EVERY_MS) {
      const found = await look();
      if (!nearest || isNearer(found, nearest)) nearest = found;
      if (found.problems.length === 0) break;
      await this.#stage.clock.advance(LOOK_EVERY_MS);
    }
    const { problems = [], used = new Set<Reason>(), depth = 0, unseen } = nearest ?? {};
    return { problems: [...problems, ...this.#stage.failures], used, depth, unseen };
  }

  async #atTheEnd(end: State): Promise<Findings> {
    return this.#until(PATIENCE_MS, async () => {
      const objects = await this.#objects(end);
      if (objects.problems.length > 0) return objects;
      const events = await this.#events(end);
      if (events.problems.length > 0) return events;
      const order = this.#order(end);
      return { ...order, used: new Set([...objects.used, ...events.used, ...order.used]) };
    });
  }

  async #objects(end: State): Promise<Findings> {
    const ours = await sideOf(this.#stage);
    const names = this.#names;
    const theirs: Side = { objects: [...end.objects.values()], names };
    const verdict = compare(ours, theirs, RULES);
    const leaving = lastLeaving(end);
    if (verdict.problems.length === 0 || !leaving) return { ...verdict, depth: 0 };
    const later = compare(ours, { objects: [...without(end, leaving).values()], names }, [
      ...RULES,
      ...openEndRules(leaving),
    ]);
    return { ...later, depth: 0 };
  }

  async #events(end: State): Promise<Findings> {
    const ours = { events: await this.#stage.events(), names: (await sideOf(this.#stage)).names };
    const theirs = { events: end.events, names: this.#names };
    return { ...compareEvents(ours, theirs, { openEnd: !isAtRest(end) }), depth: 1 };
  }

  #order(end: State): Findings {
    const { observer, seconds } = this.#stage;
    const openEnd = !isAtRest(end);
    const ours = coursesOf(observer.lives, new Names(observer.lives.flatMap(objectsOf)), seconds);
    const theirs = coursesOf(this.#lives, this.#names, end.at);
    const problems: string[] = [];
    const used = new Set<Reason>();
    let unseen = 0;
    for (const kind of new Set([...ours, ...theirs].map((course) => course.kind))) {
      const of = (course: { readonly kind: string }): boolean => course.kind === kind;
      const match = matchAll(ours.filter(of), theirs.filter(of), (mine, wanted) =>
        align(mine, wanted, RULES, { openEnd }),
      );
      for (const { theirs: wanted, pairing } of match.pairs) {
        for (const rule of pairing.rules) used.add(rule);
        unseen += pairing.unseen;
        for (const one of pairing.open) problems.push(`order of ${kind} ${wanted.name}: ${inWords(one)}`);
      }
      for (const wanted of match.missing) problems.push(`mcm never had a ${kind} ${wanted.name}`);
      if (!openEnd) for (const extra of match.extra) problems.push(`mcm created an additional ${kind} ${extra.name}`);
    }
    return { problems, used, unseen, depth: 2 };
  }
}

const isNearer = (one: Findings, other: Findings): boolean =>
  one.depth - other.depth > 0 || (one.depth === other.depth && one.problems.length < other.problems.length);

const objectsOf = ({ versions }: ObjectStates) => versions.at(-1)?.object ?? [];

function reported({ problems, used, unseen }: Omit<Findings, 'depth'>): Omit<Checked, 'name' | 'use'> {
  const failure = problems.slice(0, TOLD).join(' | ').replaceAll('\n', ' ');
  return { used, unseen, failure: failure || undefined };
}

/** Repeats the user's actions in a recording from its start, and compares the objects and events. */
export async function* sameContract(history: History, lens: Lens = PLAIN): AsyncGenerator<Checked> {
  const unknown = unplayable(history.states);
  if (unknown) {
    yield { name: `same contract ${history.file}`, use: USE, failure: unknown, used: new Set() };
    return;
  }
  let stage: Stage | undefined;
  const pace = paceOf(history.states, () => stage);
  stage = await Stage.open(history, { pace, lens });
  try {
    stage.startControllers();
    yield* new Replay(history, stage).run();
  } finally {
    await stage.close();
  }
}
