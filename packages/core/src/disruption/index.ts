export { SilenceCensus } from './census.ts';
export { checkSafeguardFlags, safeguardFlags, safeguardsOf } from './flags.ts';
export type { Guards } from './guards.ts';
export { JOIN_PATIENCE_MS, type Ledger, type LedgerInput, type LedgerSet, ledgerOf } from './ledger.ts';
export { type FleetReading, type GuardsAt, guardsOf, watchGuards } from './reading.ts';
export { type HeldMachine, planRepairs, type RepairPlan, type RepairSnapshot, whyWaiting } from './repairs.ts';
export { countsTerminating, SAFEGUARD_DEFAULTS, type SafeguardSettings, Safeguards } from './safeguards.ts';
export { BREAKER_DEFAULTS, type BreakerLimits, type OpenBreaker } from './silence.ts';
export { DisruptionsUnderWay } from './under-way.ts';
