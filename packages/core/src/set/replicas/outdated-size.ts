import type { Machine, MachineSet } from '@mcm/api';
import { BY_CONTROLLER, type ControllerContext, deploymentOf } from '../../control/caches.ts';
import { limitsOf } from '../../objects/limits.ts';
import { isAvailable, isTerminating } from '../../objects/machines.ts';
import { withLessSurge } from '../../rollout/less-surge.ts';
import { splitSets } from '../../rollout/revisions.ts';
import { NO_ROLLOUT_SETTINGS, rolloutSettingsOf } from '../../rollout/rollout-gate.ts';

const STRATEGIES: ReadonlySet<string | undefined> = new Set(['RollingUpdate', 'InPlaceUpdate']);

const hasReportedSize = ({ metadata, status }: MachineSet): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 1);

/**
 * Returns the number of available surplus machines that a set may delete, or undefined if the number is unlimited. The
 * deployment needs the other available machines. The limit applies in three cases:
 * - All sets of the deployment together have too few replicas for a rollout. The sizes are outdated if the earlier
 *   leader wrote them before a user increased the replicas.
 * - Machines belong to more than one set. The manager may have reduced this set before it saw that a user deleted
 *   machines of another set.
 * - The set has already reported its size, so its surplus machines are machines that it has kept before.
 */
export function spareMachines(
  set: MachineSet,
  context: Pick<ControllerContext, 'deployments' | 'sets' | 'machines' | 'disruptions' | 'safeguards'>,
): number | undefined {
  const deployment = deploymentOf(set, context);
  if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return undefined;
  if (!STRATEGIES.has(deployment.spec.strategy?.type)) return undefined;
  const siblings = context.sets.store.byIndex(BY_CONTROLLER, deployment.metadata.uid);
  const machinesOf = ({ metadata }: MachineSet) => context.machines.store.byIndex(BY_CONTROLLER, metadata.uid);
  const { current } = splitSets(deployment, siblings);
  const { rolloutAnnotations } = context.safeguards.settings;
  const { minSurge } = rolloutAnnotations ? rolloutSettingsOf(deployment) : NO_ROLLOUT_SETTINGS;
  const { unavailable } = withLessSurge(limitsOf(deployment), minSurge, current ? machinesOf(current) : []);
  const least = (deployment.spec.replicas ?? 0) - unavailable;
  const total = siblings.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);
  const setsWithMachines = siblings.filter((sibling) => machinesOf(sibling).length > 0).length;
  if (total >= least && setsWithMachines < 2 && !hasReportedSize(set)) return undefined;
  const stays = (machine: Machine) =>
    isAvailable(machine) && !isTerminating(machine) && !context.disruptions.isLeaving(machine);
  return Math.max(siblings.flatMap(machinesOf).filter(stays).length - least, 0);
}
