import { expect, test } from 'vitest';
import { Annotations, PreserveValues } from './annotations.ts';
import {
  InPlaceUpdateReasons,
  NodeConditions,
  PreservedMessages,
  PreservedReasons,
  TerminatingReasons,
} from './conditions.ts';
import { Finalizers } from './finalizers.ts';
import { Labels, UpdateResults } from './labels.ts';
import { MachineOperationTypes, MachinePhases, MachineStates } from './machine-phases.ts';
import { Taints } from './taints.ts';

const NODE = 'node.machine.sapcloud.io';
const SCALE_DOWN = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';

test.each<[what: string, ours: readonly string[], original: readonly string[]]>([
  [
    'finalizers',
    [Finalizers.MachineControllerManager, Finalizers.Secret, Finalizers.Node],
    [
      'machine.sapcloud.io/machine-controller-manager',
      'machine.sapcloud.io/machine-controller',
      `${NODE}/machine-controller`,
    ],
  ],
  [
    'labels of a machine',
    [Labels.Node, Labels.DeploymentName, Labels.ForceDeletion, Labels.ForceDrain],
    ['node', 'name', 'force-deletion', 'force-drain'],
  ],
  [
    'labels of a node',
    [Labels.MachineName, Labels.CandidateForUpdate, Labels.SelectedForUpdate, Labels.UpdateResult],
    [
      'node.gardener.cloud/machine-name',
      `${NODE}/candidate-for-update`,
      `${NODE}/selected-for-update`,
      `${NODE}/update-result`,
    ],
  ],
  ['results of an update in place', Object.values(UpdateResults), ['successful', 'failed']],
  [
    'annotations of a machine',
    [
      Annotations.Priority,
      Annotations.EffectiveCreationTimeout,
      Annotations.MachineJoinDuration,
      Annotations.Preserve,
      Annotations.LastAppliedNodePreserve,
    ],
    [
      'machinepriority.machine.sapcloud.io',
      `${NODE}/effective-creation-timeout`,
      `${NODE}/machine-join-duration`,
      `${NODE}/preserve`,
      `${NODE}/last-applied-node-preserve-value`,
    ],
  ],
  [
    'annotations of a node',
    [
      Annotations.LastAppliedNodeTemplate,
      Annotations.LastAppliedVirtualCapacity,
      Annotations.NotManagedByMCM,
      Annotations.UpdateFailedReason,
      Annotations.ScaleDownDisabled,
      Annotations.ScaleDownDisabledByMCM,
    ],
    [
      `${NODE}/last-applied-anno-labels-taints`,
      `${NODE}/last-applied-virtual-capacity`,
      `${NODE}/not-managed-by-mcm`,
      `${NODE}/update-failed-reason`,
      SCALE_DOWN,
      `${SCALE_DOWN}-by-mcm`,
    ],
  ],
  ['values of preserve', Object.values(PreserveValues), ['now', 'when-failed', 'auto-preserved', 'false']],
  [
    'taints',
    [Taints.CriticalComponentsNotReady, Taints.Preserved].map(({ key, effect }) => `${key}:${effect}`),
    ['node.gardener.cloud/critical-components-not-ready:NoSchedule', `${NODE}/preserved:NoSchedule`],
  ],
  [
    'conditions of a node',
    [NodeConditions.Terminating, NodeConditions.InPlaceUpdate, NodeConditions.Preserved],
    ['Terminating', 'InPlaceUpdate', 'Preserved'],
  ],
  ['reasons of Terminating', [TerminatingReasons.Unhealthy, TerminatingReasons.ScaleDown], ['Unhealthy', 'ScaleDown']],
  [
    'reasons of InPlaceUpdate',
    Object.values(InPlaceUpdateReasons),
    [
      'CandidateForUpdate',
      'SelectedForUpdate',
      'DrainSuccessful',
      'ReadyForUpdate',
      'UpdateSuccessful',
      'UpdateFailed',
    ],
  ],
  [
    'reasons of Preserved',
    Object.values(PreservedReasons),
    ['Preserved by MCM.', 'Preserved by user.', 'Preservation stopped.'],
  ],
  [
    'messages of Preserved',
    [PreservedMessages.Drained, PreservedMessages.NotDrained],
    ['Preserved node drained successfully.', 'Preserved node could not be drained.'],
  ],
  [
    'phases',
    Object.values(MachinePhases),
    [
      'Pending',
      'Available',
      'Running',
      'Unknown',
      'Failed',
      'CrashLoopBackOff',
      'Terminating',
      'InPlaceUpdating',
      'InPlaceUpdateSuccessful',
      'InPlaceUpdateFailed',
    ],
  ],
  ['states of an operation', Object.values(MachineStates), ['Processing', 'Failed', 'Successful']],
  [
    'types of an operation',
    Object.values(MachineOperationTypes),
    ['Create', 'Update', 'InPlaceUpdate', 'DrainNode', 'HealthCheck', 'Delete'],
  ],
])('%s are the same as in the original', (_what, ours, original) => {
  expect(ours.toSorted()).toEqual(original.toSorted());
});
