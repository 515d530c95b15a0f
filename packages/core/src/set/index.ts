export {
  BY_CONTROLLER,
  BY_NODE,
  BY_UNREST,
  type ControllerContext,
  machineIndexes,
  machineSetIndexes,
  NO_CONTROLLER,
  type NodeAccess,
  nodeIndexes,
  projectMachine,
  projectNode,
} from '../control/caches.ts';
export { CreationsUnderWay } from '../control/expectations.ts';
export { orderedClient } from '../control/own-writes.ts';
export { nextMachineNames } from '../objects/machine-names.ts';
export { awaitedReadiness, isUndrained } from '../objects/machines.ts';
export { mayDeleteFailed, planAutoPreservation } from '../objects/preservation.ts';
export type { ScalerRequest } from '../objects/scaler.ts';
export { compileSelector, isEmptySelector, type LabelMap, type Matcher } from '../objects/selector.ts';
export { createSetController, SetReconciler } from './reconciler.ts';
export { causeIn, type DeletionCause, DeletionCauses } from './replicas/deletion-cause.ts';
export { chooseForDeletion, deletionOrder } from './replicas/deletion-order.ts';
export { BURST, planReplicas, type ReplicaPlan, type SetSnapshot } from './replicas/replicas.ts';
