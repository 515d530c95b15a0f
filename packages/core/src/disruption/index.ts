export {
  type BudgetInput,
  type BudgetSet,
  type DisruptionBudget,
  disruptionBudgetOf,
  JOIN_PATIENCE_MS,
} from './budget.ts';
export { UnreachableCensus } from './census.ts';
export { checkSafeguardFlags, safeguardFlags, safeguardsOf } from './flags.ts';
export type { Guards } from './guards.ts';
export { type FleetReading, type GuardsAt, guardsOf, watchGuards } from './reading.ts';
export { type HeldMachine, planRepairs, type RepairPlan, type RepairSnapshot, whyWaiting } from './repairs.ts';
export { countsTerminating, SAFEGUARD_DEFAULTS, type SafeguardSettings, Safeguards } from './safeguards.ts';
export { DisruptionsUnderWay } from './under-way.ts';
export { BREAKER_DEFAULTS, type BreakerLimits, type OpenBreaker } from './unreachable.ts';
export { vmStatesText } from './vm-state.ts';
