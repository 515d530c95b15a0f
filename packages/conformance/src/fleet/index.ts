export { carry, type RequestOutcome } from '../stage/wire.ts';
export { FleetVerifier, type FleetVerifierOptions, phaseOf, type Wish } from './fleet-verifier.ts';
export { type Allowance, RepairVerifier } from './repair-verifier.ts';
export { type HistoryEntry, Reporter, type ReporterRules } from './reporter.ts';
export { SetWatch } from './set-watch.ts';
export { type KillPoint, SimulatedProcess } from './simulated-process.ts';
