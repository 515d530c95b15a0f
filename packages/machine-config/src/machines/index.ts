export { type CompanionPlan, createCompanionController, planCompanion, planRelease } from './companion.ts';
export {
  type ClaimsOf,
  claimsOf,
  createMachineCaches,
  listedFleet,
  type MachineCaches,
  type MachineFleet,
  machineFleet,
  nodeNameOf,
  type ResolvedRef,
} from './fleet.ts';
export { isSteady, memberCondition, memberStatus, membersOf, type PoolMembers } from './members.ts';
export { type DeploymentWrite, deploymentWrites, evaluateStrategy, type StrategyVerdict } from './replace.ts';
