import { type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';

type Condition = NonNullable<NonNullable<MachineDeployment['status']>['conditions']>[number];

/**
 * Conditions whose normal status is True, so the status False reports a problem. For all other conditions, the status
 * True reports a problem.
 */
const USUAL: readonly string[] = [MachineDeploymentConditions.Progressing, MachineDeploymentConditions.Available];

export function problemsOf({ status }: Pick<MachineDeployment, 'status'>): Condition[] {
  const rank = ({ type }: Condition): number => USUAL.indexOf(type);
  return (status?.conditions ?? [])
    .filter(({ type, status: is }) => is === (USUAL.includes(type) ? 'False' : 'True'))
    .sort((a, b) => rank(a) - rank(b));
}

export const isIntendedWait = ({ type, reason }: Condition): boolean =>
  type === MachineDeploymentConditions.RolloutWaiting && reason !== 'InvalidWindow';

export function problemOf(deployment: Pick<MachineDeployment, 'status'>): string | undefined {
  const [worst] = problemsOf(deployment);
  return worst && (worst.message ?? worst.reason ?? worst.type);
}
