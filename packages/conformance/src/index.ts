export { type CommandHost, conformanceCommand } from './command.ts';
export { type ConformanceConfig, conformanceConfig, readConfig } from './config.ts';
export { type DriverModule, loadDriverModule } from './driver-module.ts';
export { junitXml, outcomeText, summaryText } from './report.ts';
export { type Outcome, type Report, type RunOptions, runConformance, SCENARIOS } from './run.ts';
export { Failure, Skip } from './stage/outcome.ts';
export type { Scenario } from './stage/scenario.ts';
export { type SpecCase, type UnknownFieldCase, unknownFieldCases, wrongTypes } from './stage/spec-cases.ts';
export type {
  ConformanceTarget,
  CreateDriver,
  Dialect,
  HttpAnswer,
  Inventory,
  InventoryContext,
  World,
} from './stage/target.ts';
