import type { Case, Player } from './battery.ts';
import { isJsonObject } from './requests/json.ts';
import type { Step } from './requests/step.ts';
import { type Difference, firstDifference } from './verdict.ts';

const TRIALS = 150;

/** Sends a smaller case. If the difference still occurs at the last step, resolves with the difference. */
export type Try = (smaller: Case) => Promise<Difference | undefined>;

export const tryWith =
  (real: Player, plane: Player, exact = false): Try =>
  async (smaller) => {
    const [recorded] = await real.record([smaller]);
    if (recorded === undefined) return undefined;
    const failures = (await plane.compare([recorded])).get(recorded.name) ?? [];
    return firstDifference(recorded, failures, exact);
  };

/** Returns reduced copies of a value, each of which lacks one part. */
function smaller(value: unknown): readonly unknown[] {
  if (Array.isArray(value))
    return [
      ...value.map((_, index) => value.toSpliced(index, 1)),
      ...value.flatMap((item, index) => smaller(item).map((each) => value.with(index, each))),
    ];
  if (!isJsonObject(value)) return [];
  return [
    ...Object.keys(value).map((key) => Object.fromEntries(Object.entries(value).filter(([each]) => each !== key))),
    ...Object.entries(value).flatMap(([key, item]) => smaller(item).map((each) => ({ ...value, [key]: each }))),
  ];
}

const bare = ({ answer: _, ...step }: Step): Step => step;

/** Returns the difference in the smallest case that still shows the same class of difference. */
export async function shrink(difference: Difference, attempt: Try): Promise<Difference> {
  let trials = 0;
  let best = difference;
  const keep = async (steps: readonly Step[]): Promise<boolean> => {
    if (trials >= TRIALS) return false;
    trials += 1;
    const found = await attempt({ ...difference.case, steps: steps.map(bare) });
    if (found?.class !== difference.class) return false;
    best = { ...found, case: { ...found.case, steps: found.case.steps.slice(0, found.step + 1) } };
    return true;
  };
  await keep(difference.case.steps.slice(0, difference.step + 1));
  // The loop first removes groups of consecutive steps, and then parts of single steps.
  for (let size = Math.max(1, best.step >> 1); size >= 1; size = size === 1 ? 0 : size >> 1)
    for (let at = 0; at + size < best.case.steps.length; )
      if (!(await keep(best.case.steps.toSpliced(at, size)))) at += size;
  for (let index = 0; index < best.case.steps.length; index += 1) {
    let again = true;
    while (again && trials < TRIALS) {
      again = false;
      const { steps } = best.case;
      const step = steps[index];
      if (step === undefined || step.body === undefined) break;
      for (const body of smaller(step.body)) {
        again = await keep(steps.with(index, { ...step, body }));
        if (again || trials >= TRIALS) break;
      }
    }
  }
  return best;
}
