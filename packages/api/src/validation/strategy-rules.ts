import * as z from 'zod';
import { intOrPercent, optional } from '../kinds/fields.ts';
import { type IntOrPercent, parseIntOrPercent } from '../values/int-or-percent.ts';
import { type FieldError, invalid, type Rule, required, rule } from './field-error.ts';

const PATH = 'spec.strategy';
const any = optional(z.unknown());

const BLOCKS = {
  rollingUpdate: { type: 'RollingUpdate', example: '{maxSurge: 1, maxUnavailable: 0}' },
  inPlaceUpdate: { type: 'InPlaceUpdate', example: '{maxSurge: 0, maxUnavailable: 1, orchestrationType: Auto}' },
} as const;

type Block = keyof typeof BLOCKS;
const BLOCK_NAMES: readonly Block[] = ['rollingUpdate', 'inPlaceUpdate'];

const typeView = z.object({
  strategy: optional(z.object({ type: any, rollingUpdate: any, inPlaceUpdate: any })),
});

/** A strategy must have a type, and the block that its type needs. */
const typeRule: Rule = rule(typeView, ({ strategy }) => {
  if (strategy?.type === undefined) {
    return [required(`${PATH}.type`, 'must be one of InPlaceUpdate, Recreate, RollingUpdate')];
  }
  return BLOCK_NAMES.filter((name) => strategy.type === BLOCKS[name].type && strategy[name] === undefined).map((name) =>
    required(`${PATH}.${name}`, `must be set for the type ${BLOCKS[name].type}, such as ${BLOCKS[name].example}`),
  );
});

const budgetView = z.object({ maxSurge: any, maxUnavailable: any });
const valueView = intOrPercent('');

const wellFormed = (value: unknown): IntOrPercent | undefined => valueView.safeParse(value).data;

const isZero = (value: IntOrPercent): boolean => parseIntOrPercent(value)?.value === 0;

interface Budget {
  readonly maxSurge?: unknown;
  readonly maxUnavailable?: unknown;
}

function budgetErrors(path: string, budget: Budget, needed: boolean): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of ['maxUnavailable', 'maxSurge'] as const) {
    if (needed && budget[name] === undefined) {
      errors.push(required(`${path}.${name}`, 'must be an integer of 0 or more, or a percentage such as "25%"'));
    }
  }
  const [surge, unavailable] = [wellFormed(budget.maxSurge), wellFormed(budget.maxUnavailable)];
  for (const [name, value] of Object.entries({ maxSurge: surge, maxUnavailable: unavailable })) {
    const percent = value === undefined ? undefined : parseIntOrPercent(value);
    if (percent?.kind === 'percent' && percent.value > 100) {
      errors.push(invalid(`${path}.${name}`, 'must be an integer of 0 or more, or a percentage from 0% to 100%'));
    }
  }
  if (surge !== undefined && unavailable !== undefined && isZero(surge) && isZero(unavailable)) {
    const message = 'maxSurge and maxUnavailable must not both be 0, because an update needs one of the two limits';
    errors.push(invalid(path, message));
  }
  return errors;
}

const budgetRule = (name: Block): Rule =>
  rule(z.object({ strategy: z.object({ type: any, [name]: budgetView }) }), ({ strategy }) =>
    budgetErrors(`${PATH}.${name}`, budgetView.parse(strategy[name]), strategy.type === BLOCKS[name].type),
  );

export const strategyRules: readonly Rule[] = [typeRule, ...BLOCK_NAMES.map(budgetRule)];
