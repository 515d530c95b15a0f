export type { NodeConfigOptions } from './controller.ts';
export { NodeConfigError } from './error.ts';
export type { NodeConfig, NodeConfigInput, NodeConfigNaming } from './kind.ts';
export { type NamingInput, type NodeConfigName, suffixOf, withSuffixFor } from './names.ts';
export type { NodeConfigPlan, NodeConfigSnapshot } from './plan.ts';
export { isVerdictReported } from './verdict.ts';
