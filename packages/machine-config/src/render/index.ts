export { RenderError } from './error.ts';
export { type BaseImages, type Merged, mergeMachineConfigs } from './merge.ts';
export { hashedText, renderedName } from './name.ts';
export { byName, compareBytes, mergeOrder } from './order.ts';
export { ignitionOf } from './parsed.ts';
export { type Irreconcilable, irreconcilable, type StorageOverride } from './reconcile.ts';
export { type ControllerIdentity, checkSize, type Rendered, type RenderInput, renderPool } from './render.ts';
export { selectMachineConfigs, selectsAll } from './select.ts';
export { isRenderFailure, SUPPORTED_EXTENSIONS, validateMachineConfigSpec } from './validate.ts';
