import { counted } from '@mcm/api';
import { columns } from '../output/columns.ts';
import type { DeploymentPlan } from './plan.ts';

const totals = ({ machines: { made, deleted, updated }, warm }: DeploymentPlan): string =>
  [
    ...(warm?.used ? [`${counted(warm.used, 'warm machine')} used`] : []),
    ...(made > 0 ? [`${counted(made, 'machine')} made`] : []),
    ...(deleted > 0 ? [`${counted(deleted, 'machine')} deleted`] : []),
    ...(updated > 0 ? [`${counted(updated, 'machine')} updated in place`] : []),
    ...(warm?.made ? [`${counted(warm.made, 'warm machine')} made`] : []),
    ...(warm?.deleted ? [`${counted(warm.deleted, 'warm machine')} deleted`] : []),
  ].join(', ') || 'mcm does not create, delete or update any machine';

function durationText({ lasts, longest }: DeploymentPlan): string {
  if (longest === undefined) return `about ${lasts}`;
  return longest === 'unlimited'
    ? `about ${lasts}, longer if a hook without a limit does not end`
    : `about ${lasts}, at most ${longest} with all waits for hooks`;
}

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
    `  takes  ${durationText(plan)}; at least ${plan.leastAvailable} ${plan.leastAvailable === 1 ? 'is' : 'are'} available and at most ${plan.most} exist at any time`,
    ...(plan.costs === undefined ? [] : [`  costs  ${plan.costs}`]),
    `  ends   ${plan.ends}`,
    ...(rows.length > 0 ? ['', ...columns([head, ...rows])] : []),
    ...list('Blocked by:', plan.blockers),
    ...list('Hooks:', plan.waits),
    ...list('Assumed:', plan.assumes),
  ];
}
