export {
  BY_CONTROLLER,
  BY_NODE,
  type ControllerContext,
  machineIndexes,
  machineSetIndexes,
  NOBODY,
  type NodeAccess,
  nodeIndexes,
  projectMachine,
  projectNode,
} from './caches.ts';
export { causeIn, type DeletionCause, DeletionCauses } from './deletion-cause.ts';
export { chooseForDeletion, deletionOrder } from './deletion-order.ts';
export { CreationsUnderWay } from './expectations.ts';
export { isUndrained } from './machines.ts';
export { mayDeleteFailed, planAutoPreservation } from './preservation.ts';
export { createSetController, SetReconciler } from './reconciler.ts';
export { BURST, planReplicas, type ReplicaPlan, type SetSnapshot } from './replicas.ts';
export type { ScalerRequest } from './scaler.ts';
export { compileSelector, isEmptySelector, type LabelMap, type Matcher } from './selector.ts';
export { nextMachineNames } from './slots.ts';
