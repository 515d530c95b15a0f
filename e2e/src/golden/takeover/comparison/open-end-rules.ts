import { isFields } from '../recordings/fields.ts';
import type { Recorded } from '../recordings/recording.ts';
import type { Rule } from './rules.ts';

const ROW = 'Steps of a creation, a deletion, a drain';
const COUNTS = /^\.status\.(replicas|fullyLabeledReplicas|updatedReplicas)$/;
const ROLLOUT_MARK = /^\.metadata\.annotations\.cluster-autoscaler\.kubernetes\.io\/scale-down-disabled(-by-mcm)?$/;
const PROGRESS = /^\.status\.conditions\[Progressing\]\.(reason|message|status)$/;
const PROGRESS_REASON = '.status.conditions[Progressing].reason';
/** The condition reasons of a rollout that continues. */
const ROLLING: ReadonlySet<string> = new Set([
  'NewMachineSetCreated',
  'FoundNewMachineSet',
  'MachineSetUpdated',
  'DeploymentResumed',
]);
const FINALIZER = /^\.metadata\.finalizers/;

/**
 * Returns rules for a recording that ends while machines are being deleted. mcm completes the deletion, which changes
 * the numbers in sets and deployments and may complete a rollout.
 */
export function openEndRules(leaving: readonly Recorded[]): readonly Rule[] {
  const gone = new Set(leaving.map(({ metadata }) => metadata.name));
  const isCountedLess = (theirs: string | undefined, ours: string | undefined): boolean => {
    const less = Number(theirs ?? 0) - Number(ours ?? 0);
    return less > 0 && less <= gone.size;
  };
  return [
    {
      row: ROW,
      what: 'sets and deployments no longer count the deleted machines',
      kinds: ['MachineSet', 'MachineDeployment'],
      excuses: ({ path, ours, theirs }) => COUNTS.test(path) && isCountedLess(theirs, ours),
    },
    {
      row: ROW,
      what: 'a rollout is complete after its last machine is deleted',
      kinds: ['MachineDeployment'],
      excuses: ({ path }, sides) =>
        gone.size > 0 &&
        PROGRESS.test(path) &&
        sides.ours.get(PROGRESS_REASON) === 'NewMachineSetAvailable' &&
        ROLLING.has(sides.theirs.get(PROGRESS_REASON) ?? ''),
    },
    {
      row: ROW,
      what: 'the controller removes the finalizer of a class without machines',
      kinds: ['MachineClass'],
      excuses: ({ path, ours, theirs }, sides) =>
        FINALIZER.test(path) &&
        ours === undefined &&
        theirs !== undefined &&
        leaving.some(({ spec }) => classOf(spec) === sides.theirs.get('.metadata.name')),
    },
    {
      row: ROW,
      what: 'the manager removes the rollout labels and taints of nodes',
      kinds: ['Node'],
      excuses: ({ path, ours, theirs }) =>
        gone.size > 0 && ROLLOUT_MARK.test(path) && ours === undefined && theirs === 'true',
    },
  ];
}

const classOf = (spec: unknown): unknown => (isFields(spec) && isFields(spec.class) ? spec.class.name : undefined);
