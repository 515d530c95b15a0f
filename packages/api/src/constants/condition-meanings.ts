import type {
  ConditionStatus,
  InPlaceUpdateReason,
  MachineDeploymentConditionType,
  MachineSetConditionType,
  PreservedReasons,
  TerminatingReasons,
} from './conditions.ts';

/** What a reason of a condition tells. */
export interface ReasonMeaning {
  readonly status: ConditionStatus;
  readonly means: string;
  /** What an operator does; absent: nothing. */
  readonly help?: string;
}

/** A type of conditions, and every reason that it comes with. */
export interface ConditionMeaning {
  readonly means: string;
  readonly reasons: Readonly<Record<string, ReasonMeaning>>;
}

const FAILED_CREATE = {
  status: 'True',
  means: 'The API server refuses a Machine object.',
  help: 'Mend what the message names: a quota of the namespace, a webhook, the permissions of the manager.',
} as const;
const FAILED_DELETE = {
  status: 'True',
  means: 'The API server does not delete a Machine object.',
  help: 'Mend what the message names: a webhook, the permissions of the manager.',
} as const;
const INVALID_FIELD = {
  status: 'True',
  means: 'A field has a value that nobody can act on. Nothing is done.',
  help: 'Correct the field that the message names.',
} as const;
const CLASS_NOT_FOUND = {
  status: 'True',
  means: 'The template names a MachineClass that is not there. No machine is made.',
  help: 'Make the class, or name another in `spec.template.spec.class`.',
} as const;
const SILENT_TOGETHER = {
  status: 'True',
  means: 'So many machines fell silent together that it may be the network.',
  help: 'Runbook McmReplacementHeld.',
} as const;

/** Every condition that the manager writes on a MachineDeployment. */
export const DEPLOYMENT_CONDITIONS = {
  Available: {
    means: 'Whether as many machines run as `spec.replicas` less what may be unavailable.',
    reasons: {
      MinimumReplicasAvailable: { status: 'True', means: 'Enough machines are Running.' },
      MinimumReplicasUnavailable: {
        status: 'False',
        means: 'Too few machines are Running.',
        help: 'Runbook McmDeploymentUnavailable.',
      },
    },
  },
  Progressing: {
    means: 'How the rollout goes; after it, how the last one ended.',
    reasons: {
      NewMachineSetCreated: { status: 'True', means: 'The set of a new template was made.' },
      FoundNewMachineSet: { status: 'True', means: 'A set that was there already has the template.' },
      MachineSetUpdated: { status: 'True', means: 'The rollout came forward at `lastUpdateTime`.' },
      NewMachineSetAvailable: {
        status: 'True',
        means: 'The rollout has arrived: all machines have the template and run.',
      },
      MachineSetCreateError: {
        status: 'False',
        means: 'The set of a new template cannot be made.',
        help: 'Mend what the message names: a quota of the namespace, a webhook, the permissions of the manager.',
      },
      ProgressDeadlineExceeded: {
        ...{
          status: 'False',
          means: 'The rollout did not come forward for `spec.progressDeadlineSeconds`. It goes on trying.',
        },
        help: 'Runbook McmRolloutStuck.',
      },
      DeploymentPaused: { status: 'Unknown', means: '`spec.paused` is true.', help: '`mcm rollout resume NAME`.' },
      DeploymentResumed: { status: 'Unknown', means: '`spec.paused` was taken back; the rollout goes on.' },
    },
  },
  ReplicaFailure: {
    means: 'Taken over from a set of the deployment; absent while all is well.',
    reasons: { FailedCreate: FAILED_CREATE, FailedDelete: FAILED_DELETE },
  },
  Frozen: {
    means: 'A set of the deployment is frozen: no machine is added. Absent otherwise.',
    reasons: {
      OverShootingReplicaCount: {
        status: 'True',
        means: 'There are far more machines than asked for.',
        help: 'Runbook McmSetFrozen.',
      },
      MachineDeploymentStateSync: {
        status: 'True',
        means: 'The set bears the label of a frozen one and does not say why.',
        help: 'Runbook McmSetFrozen.',
      },
    },
  },
  InvalidSpec: {
    means: 'The spec is not one that can be acted on. Absent otherwise. Not in the original.',
    reasons: {
      ValidationFailed: INVALID_FIELD,
      SelectingAll: {
        ...{
          status: 'True',
          means: '`spec.selector` is empty and would take every machine of the namespace. Nothing is done.',
        },
        help: 'Name a label of the template in it.',
      },
      ClassNotFound: CLASS_NOT_FOUND,
      SelectorOverlaps: {
        ...{
          status: 'True',
          means: 'Another deployment selects the same machines: the older goes on, the newer waits.',
        },
        help: 'Give each a label of its own in `spec.selector` and in the labels of the template.',
      },
    },
  },
  RolloutBlocked: {
    means: 'The rollout does not go on until somebody changes something. Absent otherwise. Not in the original.',
    reasons: {
      PausedOnFailure: {
        status: 'True',
        means: 'Machines of the new template failed, and an annotation asks for a pause then.',
        help: 'Correct the template, then `mcm rollout resume NAME`; or `mcm rollout undo NAME`.',
      },
      InPlaceUpdateFailed: {
        status: 'True',
        means: 'Updates in place have failed on the nodes that the message names.',
        help: 'Correct the template, or `mcm rollout undo NAME`; a late success is accepted.',
      },
      NoTargetCluster: {
        status: 'True',
        means: 'Updates in place need the nodes, and the manager has no target cluster.',
        help: 'Start it with `--target-kubeconfig`, or choose another strategy.',
      },
      NodesNotReadable: {
        status: 'True',
        means: 'Updates in place need the nodes, which the manager may not list or watch now.',
        help: 'Apply the roles of this version; it goes on by itself.',
      },
      PlanRefused: {
        status: 'True',
        means:
          'A decision broke a bound that none may break, and nothing of it was done. A defect of ours; tried again.',
        help: 'Report it with a debug bundle: `mcm debug bundle`.',
      },
      RollbackRevisionNotFound: {
        status: 'True',
        means: 'A rollback asked for a revision that is not kept. The request was cleared.',
        help: 'Choose one that `mcm rollout history NAME` lists.',
      },
    },
  },
  ReplacementHeld: {
    means: 'Failed machines are not replaced. Absent otherwise. Not in the original.',
    reasons: { MachinesFellSilentTogether: SILENT_TOGETHER },
  },
  InputIgnored: {
    means: 'Part of what is written is not done as it is written; the rest is. Absent otherwise. Not in the original.',
    reasons: {
      AnnotationNotUnderstood: {
        status: 'True',
        means: 'An annotation has a value that means nothing.',
        help: 'Write one as the message shows it.',
      },
      LimitsComeToZero: {
        ...{
          status: 'True',
          means: '`maxSurge` and `maxUnavailable` both come to 0: one machine may be unavailable all the same.',
        },
        help: 'Write `maxUnavailable: 1`, or a `maxSurge` of 1 and more.',
      },
    },
  },
} as const satisfies Readonly<Record<MachineDeploymentConditionType, ConditionMeaning>>;

/** Every condition that the manager writes on a MachineSet, in `status.machineSetCondition`. */
export const SET_CONDITIONS = {
  ReplicaFailure: {
    means: 'Machine objects cannot be made or deleted. Absent while they can.',
    reasons: { FailedCreate: FAILED_CREATE, FailedDelete: FAILED_DELETE },
  },
  Frozen: {
    means: 'No machine is added to the set. Absent otherwise.',
    reasons: { OverShootingReplicaCount: DEPLOYMENT_CONDITIONS.Frozen.reasons.OverShootingReplicaCount },
  },
  InvalidSpec: {
    means: 'The spec is not one that can be acted on. Absent otherwise. Not in the original.',
    reasons: { ValidationFailed: INVALID_FIELD, ClassNotFound: CLASS_NOT_FOUND },
  },
  ReplacementHeld: {
    means: 'Failed machines of a set outside a deployment are not replaced. Absent otherwise. Not in the original.',
    reasons: { MachinesFellSilentTogether: SILENT_TOGETHER },
  },
} as const satisfies Readonly<Record<MachineSetConditionType, ConditionMeaning>>;

/** Every condition that the machine controller writes on a Node; a Machine's status mirrors them with the kubelet's. */
export const NODE_CONDITIONS = {
  InPlaceUpdate: {
    means: 'How far the update in place of the node is.',
    reasons: {
      CandidateForUpdate: { status: 'True', means: 'The node has an old template and may be selected.' },
      SelectedForUpdate: { status: 'True', means: 'The node is cordoned and emptied.' },
      DrainSuccessful: { status: 'True', means: 'The node is empty.' },
      ReadyForUpdate: { status: 'True', means: 'The agent on the node may begin.' },
      UpdateSuccessful: { status: 'True', means: 'The agent says that the update succeeded.' },
      UpdateFailed: {
        status: 'True',
        means: 'The agent says that the update failed; the message is its reason.',
        help: 'Correct the template, or undo the rollout.',
      },
    } satisfies Record<InPlaceUpdateReason, ReasonMeaning>,
  },
  Preserved: {
    means: 'Whether the machine of the node is kept; the message says until when, and whether the node was drained.',
    reasons: {
      'Preserved by MCM.': { status: 'True', means: 'It failed and is kept automatically.' },
      'Preserved by user.': { status: 'True', means: 'An annotation on Machine or Node asks for it.' },
      'Preservation stopped.': { status: 'False', means: 'It is not kept any more.' },
    } satisfies Record<(typeof PreservedReasons)[keyof typeof PreservedReasons], ReasonMeaning>,
  },
  Terminating: {
    means: 'The machine of the node is being deleted.',
    reasons: {
      ScaleDown: { status: 'True', means: 'The node is healthy: a user, a scale-in or a rollout deletes it.' },
      Unhealthy: { status: 'True', means: 'The node is not healthy.' },
    } satisfies Record<keyof typeof TerminatingReasons, ReasonMeaning>,
  },
} as const satisfies Readonly<Record<string, ConditionMeaning>>;

/** Reason, with type and status, of a condition among those that a table tells of. */
export type ConditionWords<Table extends Readonly<Record<string, ConditionMeaning>>> = {
  [Type in keyof Table & string]: {
    [Reason in keyof Table[Type]['reasons'] & string]: {
      readonly type: Type;
      readonly status: Table[Type]['reasons'][Reason]['status'];
      readonly reason: Reason;
    };
  }[keyof Table[Type]['reasons'] & string];
}[keyof Table & string];
