export { RenderError } from '../config/error.ts';
export { type BaseImages, type Merged, mergeMachineConfigs } from '../config/merge.ts';
export { hashedText, renderedName } from '../config/name.ts';
export { byName, compareBytes, mergeOrder } from '../config/order.ts';
export { ignitionOf } from '../config/parsed.ts';
export { type Irreconcilable, irreconcilable, type StorageOverride } from '../config/reconcile.ts';
export { type Applied, applyMachineConfig } from '../config/render/apply.ts';
export { type ConfigGate, controllerConfigGate, nodeConfigGate } from '../config/render/gates.ts';
export {
  type ControllerIdentity,
  checkSize,
  type Rendered,
  type RenderInput,
  renderPool,
} from '../config/render/render.ts';
export { selectMachineConfigs, selectsAll } from '../config/select.ts';
export { isRenderFailure, SUPPORTED_EXTENSIONS, validateMachineConfigSpec } from '../config/validate.ts';
export { planRender, type RenderPlan, type RenderSnapshot } from './plan.ts';
export { oldRenders, type PruneSnapshot } from './prune.ts';
export { poolsToRender, poolsToRenderWith } from './wakeups.ts';
