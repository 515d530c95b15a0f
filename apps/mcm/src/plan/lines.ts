import { counted } from '@mcm/api';
import { columns } from '../output/columns.ts';
import type { DeploymentPlan } from './plan.ts';

const totals = ({ machines: { made, deleted, updated } }: DeploymentPlan): string =>
  [
    ...(made > 0 ? [`${counted(made, 'machine')} made`] : []),
    ...(deleted > 0 ? [`${counted(deleted, 'machine')} deleted`] : []),
    ...(updated > 0 ? [`${counted(updated, 'machine')} updated in place`] : []),
  ].join(', ') || 'mcm creates, deletes and updates no machine';

/** Formats plans as lines of text. */
export function planLines(plans: readonly DeploymentPlan[], wide: boolean): string[] {
  return plans.flatMap((plan, index) => [...(index > 0 ? [''] : []), ...deploymentPlanLines(plan, wide)]);
}

function deploymentPlanLines(plan: DeploymentPlan, wide: boolean): string[] {
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : ['', title, ...items.map((item) => `  - ${item}`)];
  const zonal = plan.steps.some(({ zone }) => zone !== undefined);
  const head = ['  AFTER', 'ACTION', 'OBJECT', 'OF SET', ...(zonal ? ['ZONE'] : []), ...(wide ? ['BECAUSE'] : [])];
  const rows = plan.steps.map(({ after, action, name, set = '', zone = '', because }) => [
    `  ${after}`,
    ...[action, name, set, ...(zonal ? [zone] : [])],
    ...(wide ? [because] : []),
  ]);
  return [
    `machinedeployment ${plan.name}`,
    `  wants  ${plan.wants}`,
    `  does   ${totals(plan)}`,
    `  takes  about ${plan.lasts}; at least ${plan.leastAvailable} ${plan.leastAvailable === 1 ? 'is' : 'are'} available and at most ${plan.most} exist at any time`,
    ...(plan.costs === undefined ? [] : [`  costs  ${plan.costs}`]),
    `  ends   ${plan.ends}`,
    ...(rows.length > 0 ? ['', ...columns([head, ...rows])] : []),
    ...list('Blocked by:', plan.blockers),
    ...list('Assumed:', plan.assumes),
  ];
}
