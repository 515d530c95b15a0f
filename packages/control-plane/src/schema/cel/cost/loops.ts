import type { MacroName } from '../syntax/ast.ts';
import type { Sized } from './calls.ts';
import { type Entries, entriesOf, fixed, ONE, type Size, times, union } from './size.ts';

interface Costed extends Sized {
  readonly cost: number;
}

const FIRST: Readonly<Record<'list' | 'map', number>> = { list: 11, map: 31 };

interface LoopFacts {
  readonly cost: number;
  readonly size: Size;
  readonly entries?: Entries | undefined;
}

const STEPS: Readonly<Record<Exclude<MacroName, 'optMap' | 'optFlatMap'>, number>> = {
  all: 3,
  exists: 4,
  exists_one: 2,
  map: 12,
  filter: 13,
  transformList: 12,
  transformMap: 3,
  transformMapEntry: 2,
};

/**
 * As in cel-go, the cost of a macro is the cost of the loop into which cel-go expands the macro.
 * @param item the size of the first variable of the macro
 */
export function loopFacts(macro: keyof typeof STEPS, range: Costed, args: readonly Costed[], item: Size): LoopFacts {
  const step = args.reduce((sum, { cost }) => sum + cost, STEPS[macro]);
  const loop = range.cost + times(range.size.max, step);
  switch (macro) {
    case 'all':
    case 'exists':
      return { cost: loop + 1, size: ONE };
    case 'exists_one':
      return { cost: loop + 2, size: ONE };
    case 'transformMap':
    case 'transformMapEntry':
      return { cost: loop + FIRST.map, size: range.size };
    default: {
      const added = macro === 'filter' ? item : (args.at(-1)?.size ?? item);
      return { cost: loop + FIRST.list, size: range.size, entries: entriesOf(true, [], [union(fixed(0), added)]) };
    }
  }
}

/**
 * Returns the cost of a macro on an optional. cel-go evaluates the optional twice: in `hasValue()` and in `value()`. In
 * cel-go, the macro sets its variable through a loop over an empty list, which has a cost.
 */
export const optionalCost = (isFlat: boolean, range: Costed, body: Costed): number =>
  2 * range.cost + body.cost + (isFlat ? 12 : 13);

/** The cost of a bound variable, which cel-go expands to a loop over an empty list. */
export const BIND_COST = 10;
