import { policyStatus } from './admission/policy-status.ts';
import { resourceQuotaController } from './admission/resource-quota.ts';
import { certificateApprover } from './certificates/approve.ts';
import { certificateCleaner } from './certificates/clean.ts';
import { certificateSigner } from './certificates/sign.ts';
import { roleAggregation } from './cluster/role-aggregation.ts';
import { bootstrapSigner, tokenCleaner } from './cluster/tokens.ts';
import { disruption } from './disruption/index.ts';
import { garbageCollector } from './garbage-collector/index.ts';
import { rootCaPublisher, serviceAccounts } from './namespace/accounts.ts';
import { namespaceController } from './namespace/index.ts';
import { taintEviction } from './node/eviction.ts';
import { nodeLifecycle } from './node/lifecycle.ts';
import { podGarbageCollector } from './node/pod-gc.ts';
import { type Controller, type ControllerEnvironment, runControllers } from './runtime/controller.ts';
import { scheduler } from './scheduler/index.ts';
import { attachDetach } from './volumes/attach.ts';
import { volumeBinder } from './volumes/binder.ts';
import { storageProtection } from './volumes/protection.ts';
import { daemonSetController } from './workloads/daemon-set/index.ts';
import { deploymentController } from './workloads/deployment/index.ts';
import { jobController, ttlAfterFinished } from './workloads/job/index.ts';
import { replicaSetController, replicationController } from './workloads/replica-set.ts';
import { statefulSetController } from './workloads/stateful-set/index.ts';

export type { PlaneClient } from './runtime/api.ts';
export type { ControllerEnvironment } from './runtime/controller.ts';

/** All controllers. Those that look at everything come last: they share the caches of the others. */
const CONTROLLERS: readonly Controller[] = [
  disruption,
  scheduler,
  replicaSetController,
  replicationController,
  deploymentController,
  statefulSetController,
  daemonSetController,
  jobController,
  ttlAfterFinished,
  volumeBinder,
  attachDetach,
  storageProtection,
  tokenCleaner,
  bootstrapSigner,
  roleAggregation,
  nodeLifecycle,
  taintEviction,
  podGarbageCollector,
  serviceAccounts,
  rootCaPublisher,
  policyStatus,
  resourceQuotaController,
  certificateApprover,
  certificateSigner,
  certificateCleaner,
  namespaceController,
  garbageCollector,
];

/** The names by which controllers are chosen. */
export const controllerNames: readonly string[] = CONTROLLERS.map(({ name }) => name);

/** Controllers that are chosen and not started yet. */
export interface Controllers {
  readonly names: readonly string[];
  /** Runs them until the signal is aborted; resolves when they have seen all that is there. */
  start(signal: AbortSignal): Promise<void>;
}

/**
 * The controllers of the control plane over its own API. `chosen`: true for all, false for none, or their names.
 * @throws Error for a name that no controller has
 */
export function builtinControllers(
  environment: ControllerEnvironment,
  chosen: boolean | readonly string[] = true,
): Controllers {
  const names = chosen === true ? controllerNames : chosen === false ? [] : chosen;
  const unknown = names.filter((name) => !controllerNames.includes(name));
  if (unknown.length > 0) {
    throw new Error(`no controller is named ${unknown.join(', ')}; there are ${controllerNames.join(', ')}`);
  }
  const running = CONTROLLERS.filter(({ name }) => names.includes(name));
  return {
    names,
    start: (signal) => (running.length === 0 ? Promise.resolve() : runControllers(running, environment, signal)),
  };
}
