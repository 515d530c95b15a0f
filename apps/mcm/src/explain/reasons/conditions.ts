import { type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';

type Condition = NonNullable<NonNullable<MachineDeployment['status']>['conditions']>[number];

/**
 * The types of conditions that every healthy deployment has. A condition of such a type reports a problem only if its
 * status is False. A condition of any other type always reports a problem.
 */
const USUAL: readonly string[] = [MachineDeploymentConditions.Progressing, MachineDeploymentConditions.Available];

/**
 * Returns the conditions that report a problem, the most specific first. `Available` is the least specific condition.
 */
export function problemsOf({ status }: Pick<MachineDeployment, 'status'>): Condition[] {
  const rank = ({ type }: Condition): number => USUAL.indexOf(type);
  return (status?.conditions ?? [])
    .filter(({ type, status: is }) => is === (USUAL.includes(type) ? 'False' : 'True'))
    .sort((a, b) => rank(a) - rank(b));
}

/** Returns true if the wait in a condition was requested by a user with a window, a freeze or a postponement. */
export const isIntendedWait = ({ type, reason }: Condition): boolean =>
  type === MachineDeploymentConditions.RolloutWaiting && reason !== 'InvalidWindow';

/** Returns the most specific problem of a deployment as one sentence. Without a problem, the result is undefined. */
export function problemOf(deployment: Pick<MachineDeployment, 'status'>): string | undefined {
  const [worst] = problemsOf(deployment);
  return worst && (worst.message ?? worst.reason ?? worst.type);
}
