export { SilenceCensus } from './census.ts';
export { checkSafeguardFlags, safeguardFlags, safeguardsOf } from './flags.ts';
export { JOIN_PATIENCE_MS, type Ledger, type LedgerInput, type LedgerSet, ledgerOf } from './ledger.ts';
export { type HeldMachine, planRepairs, type RepairPlan, type RepairSnapshot, whyWaiting } from './repairs.ts';
export { SAFEGUARD_DEFAULTS, type SafeguardSettings, Safeguards } from './safeguards.ts';
export { BREAKER_DEFAULTS, type BreakerLimits, type OpenBreaker } from './silence.ts';
