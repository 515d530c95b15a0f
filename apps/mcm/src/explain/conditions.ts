import { type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';

type Condition = NonNullable<NonNullable<MachineDeployment['status']>['conditions']>[number];

/** The two that every healthy deployment has are bad only when False; any other says that something is wrong. */
const USUAL: readonly string[] = [MachineDeploymentConditions.Progressing, MachineDeploymentConditions.Available];

/** Conditions that tell of trouble, the one that says most first: that too few are available says least. */
export function troublesOf({ status }: Pick<MachineDeployment, 'status'>): Condition[] {
  const rank = ({ type }: Condition): number => USUAL.indexOf(type);
  return (status?.conditions ?? [])
    .filter(({ type, status: is }) => is === (USUAL.includes(type) ? 'False' : 'True'))
    .sort((a, b) => rank(a) - rank(b));
}

/** Why a deployment is not as it should be, in one sentence; undefined when it is. */
export function troubleOf(deployment: Pick<MachineDeployment, 'status'>): string | undefined {
  const [worst] = troublesOf(deployment);
  return worst && (worst.message ?? worst.reason ?? worst.type);
}
