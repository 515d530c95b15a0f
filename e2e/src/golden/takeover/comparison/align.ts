import type { Difference } from '../recordings/compared-fields.ts';
import type { Pairing } from './match.ts';
import type { Rule, Step } from './rules.ts';
import { ABSENT, type Course, type Visit } from './sequences.ts';

/** A recording may have missed a state that lasted at most this number of seconds. */
const BRIEF_S = 1;
/**
 * - `open`: no rule allows the difference. `excused`: a rule allows the difference. `free`: the recording may have
 * missed the step.
 */
const WEIGHT = { open: 1_000, excused: 1, free: 0.01 };

interface Ends {
  readonly openEnd: boolean;
}

/** Compares the values of each field of an object over time. */
export function align(ours: Course, theirs: Course, rules: readonly Rule[], ends: Ends): Pairing {
  const relevant = rules.filter((rule) => rule.kinds.includes(ours.kind));
  const lanes = [...new Set([...theirs.lanes.keys(), ...ours.lanes.keys()])];
  const paths = lanes.map((lane) => new LaneAlignment({ lane, ours, theirs, rules: relevant, ...ends }).best(0, 0));
  return {
    cost: paths.reduce((sum, { cost }) => sum + cost, 0),
    open: paths.flatMap(({ open }) => open),
    rules: [...new Set(paths.flatMap(({ rules: needed }) => needed))],
    unseen: paths.reduce((sum, { unseen }) => sum + unseen, 0),
  };
}

interface LaneTask extends Ends {
  readonly lane: string;
  readonly ours: Course;
  readonly theirs: Course;
  readonly rules: readonly Rule[];
}

/** Aligns the steps of mcm with the steps of the original at the lowest cost. */
class LaneAlignment {
  readonly #task: LaneTask;
  readonly #mine: readonly Visit[];
  readonly #wanted: readonly Visit[];
  readonly #known = new Map<string, Pairing>();

  constructor(task: LaneTask) {
    this.#task = task;
    this.#mine = task.ours.lanes.get(task.lane) ?? [];
    this.#wanted = task.theirs.lanes.get(task.lane) ?? [];
  }

  best(row: number, column: number): Pairing {
    const key = `${row}/${column}`;
    const known = this.#known.get(key);
    if (known) return known;
    const [first, ...others] = this.#ways(row, column);
    const path = others.reduce((one, other) => (other.cost < one.cost ? other : one), first ?? NOTHING);
    this.#known.set(key, path);
    return path;
  }

  #ways(row: number, column: number): readonly Pairing[] {
    const want = this.#wanted[row];
    const have = this.#mine[column];
    const ways: Pairing[] = [];
    if (want && have && want.value === have.value) ways.push(this.best(row + 1, column + 1));
    else if (want && have) {
      const rule = this.#excuse(have.value, want.value);
      if (rule) ways.push(excused(this.best(row + 1, column + 1), rule));
    }
    if (want) ways.push(this.#alone(undefined, want.value, this.best(row + 1, column)));
    if (have) ways.push(this.#ourStep(have, row, this.best(row, column + 1)));
    return ways;
  }

  #ourStep(have: Visit, row: number, rest: Pairing): Pairing {
    const isAfterTheEnd = this.#task.openEnd && this.#wanted[row] === undefined;
    // True if the field changes back to the last recorded value.
    const isBack =
      (have.value === ABSENT || this.#isCounted) && have.value === (this.#wanted[row - 1]?.value ?? ABSENT);
    if (isAfterTheEnd || isBack || this.#isBrief(have))
      return { ...rest, cost: rest.cost + WEIGHT.free, unseen: rest.unseen + 1 };
    return this.#alone(have.value, undefined, rest);
  }

  get #isCounted(): boolean {
    return ['MachineDeployment', 'MachineSet'].includes(this.#task.ours.kind);
  }

  #isBrief({ value, from, to }: Visit): boolean {
    return to - from < BRIEF_S && (this.#isCounted || !this.#wanted.some((visit) => visit.value === value));
  }

  #excuse(ours: string | undefined, theirs: string | undefined): Rule | undefined {
    const { lane, rules, ...courses } = this.#task;
    const step: Step = { lane, ours, theirs };
    return rules.find((rule) => rule.excusesStep?.(step, courses));
  }

  #alone(ours: string | undefined, theirs: string | undefined, rest: Pairing): Pairing {
    const rule = this.#excuse(ours, theirs);
    if (rule) return excused(rest, rule);
    const path = `${this.#task.lane} (${ours === undefined ? `missing: ${theirs}` : `mcm sends an additional write: ${ours}`})`;
    const difference: Difference = { path, ours: inOrder(this.#mine), theirs: inOrder(this.#wanted) };
    return { ...rest, cost: rest.cost + WEIGHT.open, open: [difference, ...rest.open] };
  }
}

const NOTHING: Pairing = { cost: 0, open: [], rules: [], unseen: 0 };

const excused = (rest: Pairing, rule: Rule): Pairing => ({
  ...rest,
  cost: rest.cost + WEIGHT.excused,
  rules: [...rest.rules, rule],
});

const inOrder = (visits: readonly Visit[]): string => visits.map(({ value }) => value).join(' → ') || 'never there';
