import type { Machine, MachineSet } from '@mcm/api';
import { BY_CONTROLLER, type ControllerContext, deploymentOf } from '../../control/caches.ts';
import { limitsOf } from '../../objects/limits.ts';
import { isAvailable, isTerminating } from '../../objects/machines.ts';

const STRATEGIES: ReadonlySet<string | undefined> = new Set(['RollingUpdate', 'InPlaceUpdate']);

/**
 * Returns the number of available surplus machines that a set may delete, or undefined for any number. The limit
 * applies while all sets of the deployment together have too few replicas for a rollout. The sizes are outdated if the
 * earlier leader wrote them before a user increased the replicas.
 */
export function spareMachines(
  set: MachineSet,
  context: Pick<ControllerContext, 'deployments' | 'sets' | 'machines' | 'disruptions'>,
): number | undefined {
  const deployment = deploymentOf(set, context);
  if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return undefined;
  if (!STRATEGIES.has(deployment.spec.strategy?.type)) return undefined;
  const siblings = context.sets.store.byIndex(BY_CONTROLLER, deployment.metadata.uid);
  const total = siblings.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);
  const least = (deployment.spec.replicas ?? 0) - limitsOf(deployment).unavailable;
  if (total >= least) return undefined;
  const stays = (machine: Machine) =>
    isAvailable(machine) && !isTerminating(machine) && !context.disruptions.isLeaving(machine);
  const machines = siblings.flatMap(({ metadata: { uid } }) => context.machines.store.byIndex(BY_CONTROLLER, uid));
  return Math.max(machines.filter(stays).length - least, 0);
}
