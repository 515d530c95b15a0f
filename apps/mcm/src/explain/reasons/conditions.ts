import { type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';

type Condition = NonNullable<NonNullable<MachineDeployment['status']>['conditions']>[number];

/**
 * The conditions of every healthy deployment. A condition in the list reports a problem only if its status is False.
 * All other conditions always report a problem.
 */
const USUAL: readonly string[] = [MachineDeploymentConditions.Progressing, MachineDeploymentConditions.Available];

/** Returns the conditions that report a problem, most specific first. `Available` is the least specific condition. */
export function problemsOf({ status }: Pick<MachineDeployment, 'status'>): Condition[] {
  const rank = ({ type }: Condition): number => USUAL.indexOf(type);
  return (status?.conditions ?? [])
    .filter(({ type, status: is }) => is === (USUAL.includes(type) ? 'False' : 'True'))
    .sort((a, b) => rank(a) - rank(b));
}

/** Returns true if a condition reports a wait that a user has requested with a window, a freeze or a postponement. */
export const isIntendedWait = ({ type, reason }: Condition): boolean =>
  type === MachineDeploymentConditions.RolloutWaiting && reason !== 'InvalidWindow';

/** Returns the most specific problem of a deployment as one sentence, or undefined if there is no problem. */
export function problemOf(deployment: Pick<MachineDeployment, 'status'>): string | undefined {
  const [worst] = problemsOf(deployment);
  return worst && (worst.message ?? worst.reason ?? worst.type);
}
