import type {
  ConditionStatus,
  InPlaceUpdateReason,
  MachineConditions,
  MachineDeploymentConditionType,
  MachineSetConditionType,
  PreservedReasons,
  TerminatingReasons,
} from './conditions.ts';

/** Describes one reason of a condition type. */
export interface ReasonMeaning {
  readonly status: ConditionStatus;
  readonly means: string;
  /** The action for an operator, or absent if no action is necessary. */
  readonly help?: string;
}

/** Describes a condition type, and all its reasons. */
export interface ConditionMeaning {
  readonly means: string;
  readonly reasons: Readonly<Record<string, ReasonMeaning>>;
}

const FAILED_CREATE = {
  status: 'True',
  means: 'The API server refuses to create a Machine object.',
  help: 'Fix the cause that the message of the condition names: a quota, a webhook, or the permissions of the manager.',
} as const;
const FAILED_DELETE = {
  status: 'True',
  means: 'The API server refuses to delete a Machine object.',
  help: 'Fix the cause that the message of the condition names: a webhook, or the permissions of the manager.',
} as const;
const INVALID_FIELD = {
  status: 'True',
  means: 'A field of the object has an invalid value. The manager ignores the object.',
  help: 'Correct the field that the message of the condition names.',
} as const;
const CLASS_NOT_FOUND = {
  status: 'True',
  means: 'The MachineClass of the template does not exist. The manager creates no machine.',
  help: 'Create the class, or use another class in `spec.template.spec.class`.',
} as const;
const SILENT_TOGETHER = {
  status: 'True',
  means: 'The circuit breaker is open: many machines became unreachable at the same time.',
  help: 'Runbook McmReplacementHeld.',
} as const;

/** All conditions that the manager writes on a MachineDeployment. */
export const DEPLOYMENT_CONDITIONS = {
  Available: {
    means: 'Whether the deployment has at least `spec.replicas` minus `maxUnavailable` available machines.',
    reasons: {
      MinimumReplicasAvailable: { status: 'True', means: 'The deployment has enough Running machines.' },
      MinimumReplicasUnavailable: {
        status: 'False',
        means: 'The deployment has too few Running machines.',
        help: 'Runbook McmDeploymentUnavailable.',
      },
    },
  },
  Progressing: {
    means:
      'The progress of the current rollout of the deployment. Between rollouts, the condition contains the result of the previous rollout.',
    reasons: {
      NewMachineSetCreated: { status: 'True', means: 'The manager created a MachineSet for a new template.' },
      FoundNewMachineSet: { status: 'True', means: 'The rollout uses an existing MachineSet with the same template.' },
      MachineSetUpdated: {
        status: 'True',
        means: 'The rollout most recently made progress at the time in `lastUpdateTime`.',
      },
      NewMachineSetAvailable: {
        status: 'True',
        means: 'The rollout is complete: all machines have the template and are Running.',
      },
      MachineSetCreateError: {
        status: 'False',
        means: 'The manager cannot create the MachineSet of a new template.',
        help: 'Fix the cause that the message of the condition names: a quota, a webhook, or the permissions of the manager.',
      },
      ProgressDeadlineExceeded: {
        status: 'False',
        means: 'The rollout made no progress for `spec.progressDeadlineSeconds`. The manager continues the rollout.',
        help: 'Runbook McmRolloutStuck.',
      },
      DeploymentPaused: { status: 'Unknown', means: '`spec.paused` is true.', help: 'Run `mcm rollout resume NAME`.' },
      DeploymentResumed: { status: 'Unknown', means: 'A user set `spec.paused` to false, so the rollout continues.' },
    },
  },
  ReplicaFailure: {
    means:
      'The manager copied the condition from a MachineSet of the deployment. The manager removes the condition ReplicaFailure when the failure ends.',
    reasons: { FailedCreate: FAILED_CREATE, FailedDelete: FAILED_DELETE },
  },
  Frozen: {
    means:
      'A MachineSet of the deployment is frozen, so the manager adds no machine. The manager removes the condition Frozen when the freeze ends.',
    reasons: {
      OverShootingReplicaCount: {
        status: 'True',
        means: 'The MachineSet has too many machines.',
        help: 'Runbook McmSetFrozen.',
      },
      MachineDeploymentStateSync: {
        status: 'True',
        means: 'The MachineSet has the label `freeze`, but no condition that explains the freeze.',
        help: 'Runbook McmSetFrozen.',
      },
    },
  },
  InvalidSpec: {
    means:
      'The spec is invalid. The manager removes the condition InvalidSpec when the spec is valid. The original MCM does not have the condition.',
    reasons: {
      ValidationFailed: INVALID_FIELD,
      SelectingAll: {
        status: 'True',
        means:
          '`spec.selector` is empty, which matches every machine of the namespace. The manager ignores the deployment.',
        help: 'Add a label of the template to `spec.selector`.',
      },
      ClassNotFound: CLASS_NOT_FOUND,
      SelectorOverlaps: {
        status: 'True',
        means:
          'Two deployments select the same machines. The older of the two deployments continues, and the newer deployment waits.',
        help: 'Use a unique label in `spec.selector` and in the labels of the template of each deployment.',
      },
    },
  },
  RolloutBlocked: {
    means:
      'The rollout is blocked until a user acts. The manager removes the condition RolloutBlocked when the rollout continues. The original MCM does not have the condition.',
    reasons: {
      PausedOnFailure: {
        status: 'True',
        means:
          'Machines of the new template failed, so the manager paused the rollout (annotation `pause-on-failure`).',
        help: 'Correct the template and run `mcm rollout resume NAME`, or run `mcm rollout undo NAME`.',
      },
      InPlaceUpdateFailed: {
        status: 'True',
        means: 'Updates in place failed. The message of the condition lists the nodes with a failed update.',
        help: 'Correct the template, or run `mcm rollout undo NAME`. If an update of a node succeeds later, the manager accepts the update.',
      },
      NoTargetCluster: {
        status: 'True',
        means: 'The manager has no target cluster, so the manager cannot read the nodes for updates in place.',
        help: 'Start the manager with `--target-kubeconfig`, or use another strategy.',
      },
      NodesNotReadable: {
        status: 'True',
        means: 'The manager has no permission to list or watch nodes, so the manager cannot update machines in place.',
        help: 'Apply the RBAC roles of this mcm version. The manager continues automatically after you apply the roles.',
      },
      PlanRefused: {
        status: 'True',
        means:
          'The manager did not execute the next step of the rollout, because the step violates a limit. A step that violates a limit is a bug in mcm. The manager retries.',
        help: 'Report the bug with a debug bundle: `mcm debug bundle`.',
      },
      RollbackRevisionNotFound: {
        status: 'True',
        means:
          'A user requested a rollback to a revision that does not exist. The manager removed the request for the rollback.',
        help: 'Choose a revision from `mcm rollout history NAME`.',
      },
    },
  },
  Ready: {
    means:
      'True when all machines have the current template and are available. Tools can wait for the condition `Ready`. The condition exists only with the flag `--ready-condition`. The original MCM does not have the condition.',
    reasons: {
      Complete: { status: 'True', means: 'All machines have the current template and are available.' },
      Incomplete: { status: 'False', means: 'Some machines are missing, are unavailable, or have an older template.' },
      Stalled: { status: 'False', means: 'The condition `Stalled` is true, and its message states the cause.' },
    },
  },
  Stalled: {
    means:
      'True when a user must fix a problem before the deployment can become ready. The condition exists only with the flag `--ready-condition`, and only while the problem exists. The original MCM does not have the condition.',
    reasons: {
      InvalidSpec: {
        status: 'True',
        means: 'The condition `InvalidSpec` is true.',
        help: 'The message of the condition `InvalidSpec` states the cause.',
      },
      RolloutBlocked: {
        status: 'True',
        means: 'The condition `RolloutBlocked` is true.',
        help: 'The message of the condition `RolloutBlocked` states the cause.',
      },
      ProgressDeadlineExceeded: {
        status: 'True',
        means: 'The rollout made no progress for `spec.progressDeadlineSeconds`.',
        help: 'To find the unavailable machine, use `mcm explain`.',
      },
    },
  },
  RolloutWaiting: {
    means:
      'The rollout waits for a window, the end of a freeze, postponed nodes, or the rollout budget of a fleet. The manager removes the condition RolloutWaiting when the rollout continues. The original MCM does not have the condition.',
    reasons: {
      OutsideWindow: {
        status: 'True',
        means:
          'No rollout window is open. The message of the condition contains the time at which the rollout may continue.',
        help: 'To continue now, set the annotation `rollout.machine.sapcloud.io/open-until`.',
      },
      InFreeze: {
        status: 'True',
        means:
          'A freeze forbids rollouts. The message of the condition contains the end time and the reason of the freeze.',
        help: 'To continue now, set the annotation `rollout.machine.sapcloud.io/open-until`.',
      },
      NodePostponed: {
        status: 'True',
        means:
          'Nodes with the label `rollout.machine.sapcloud.io/postpone` keep their machines. The manager replaced or updated all other machines.',
        help: 'Remove the label, or set the annotation `rollout.machine.sapcloud.io/open-until`.',
      },
      CanaryPodsUnknown: {
        status: 'True',
        means:
          'The manager cannot read the pods of the canaries, so the rollout does not continue after the soak time.',
        help: 'The message contains the error. Give the manager the permission to `list` pods in the target cluster.',
      },
      RolloutBudget: {
        status: 'True',
        means:
          'The rollout budget of the fleet allows no rollout of this cluster now. The message of the condition names the cause and the ConfigMap of the rollout budget.',
        help: 'Wait for the rollouts of other clusters, or change the ConfigMap of the rollout budget.',
      },
      InvalidWindow: {
        status: 'True',
        means:
          'The rollout windows or freezes of the MachineClass are invalid, so the deployments of the class start no rollout.',
        help: 'Correct the annotation of the MachineClass. The message of the condition contains the name of the annotation and the error.',
      },
    },
  },
  ReplacementHeld: {
    means:
      'The manager does not replace Failed machines. The manager removes the condition ReplacementHeld when it replaces machines again. The original MCM does not have the condition.',
    reasons: { ManyMachinesUnreachable: SILENT_TOGETHER },
  },
  InputIgnored: {
    means:
      'The manager ignores an invalid field or annotation and applies all other fields. The manager removes the condition InputIgnored when all fields and annotations are valid. The original MCM does not have the condition.',
    reasons: {
      AnnotationNotUnderstood: {
        status: 'True',
        means: 'An annotation has an invalid value.',
        help: 'The message of the condition shows a valid value of the annotation.',
      },
      LabelNotUnderstood: {
        status: 'True',
        means: 'A label has an unknown value.',
        help: 'Use one of the values that the message of the condition lists.',
      },
      LimitsComeToZero: {
        status: 'True',
        means:
          '`maxSurge` and `maxUnavailable` are both 0 for the current number of replicas. The manager allows one unavailable machine.',
        help: 'Set `maxUnavailable: 1`, or a `maxSurge` of at least 1.',
      },
    },
  },
} as const satisfies Readonly<Record<MachineDeploymentConditionType, ConditionMeaning>>;

/** All conditions that the manager writes on a MachineSet, in `status.machineSetCondition`. */
export const SET_CONDITIONS = {
  ReplicaFailure: {
    means:
      'The manager cannot create or delete Machine objects. The manager removes the condition ReplicaFailure when it can create and delete machines again.',
    reasons: { FailedCreate: FAILED_CREATE, FailedDelete: FAILED_DELETE },
  },
  Frozen: {
    means:
      'The MachineSet is frozen, so the manager adds no machine. The manager removes the condition Frozen when the freeze ends.',
    reasons: { OverShootingReplicaCount: DEPLOYMENT_CONDITIONS.Frozen.reasons.OverShootingReplicaCount },
  },
  InvalidSpec: {
    means:
      'The spec is invalid. The manager removes the condition InvalidSpec when the spec is valid. The original MCM does not have the condition.',
    reasons: { ValidationFailed: INVALID_FIELD, ClassNotFound: CLASS_NOT_FOUND },
  },
  ReplacementHeld: {
    means:
      'The manager does not replace Failed machines of a MachineSet that has no MachineDeployment. The manager removes the condition ReplacementHeld when it replaces machines again. The original MCM does not have the condition.',
    reasons: { ManyMachinesUnreachable: SILENT_TOGETHER },
  },
} as const satisfies Readonly<Record<MachineSetConditionType, ConditionMeaning>>;

/** All conditions that the machine controller writes only to the status of a Machine. */
export const MACHINE_CONDITIONS = {
  DrainFailed: {
    means:
      'The machine is being deleted, but mcm ended the drain because pods remained. mcm keeps the VM. The condition exists only with the undrainable policy `Fail`. The original MCM does not have the condition.',
    reasons: {
      DrainTimeoutExpired: {
        status: 'True',
        means:
          'Pods remained on the node after the drain timeout. The message of the condition names the remaining pods.',
        help: 'Delete the pods, increase the drain timeout, change the policy, or set the label `force-deletion`. The deletion of the machine continues when the pods have ended.',
      },
    },
  },
} as const satisfies Readonly<Record<keyof typeof MachineConditions, ConditionMeaning>>;

/**
 * All conditions that the machine controller writes on a Node. The status of a Machine contains a copy of these
 * conditions and of the kubelet's conditions.
 */
export const NODE_CONDITIONS = {
  InPlaceUpdate: {
    means: 'Progress of the in-place update of a node.',
    reasons: {
      CandidateForUpdate: {
        status: 'True',
        means: 'The node has an old template. A user can select the node for the update.',
      },
      SelectedForUpdate: { status: 'True', means: 'The node is cordoned and drained.' },
      DrainSuccessful: { status: 'True', means: 'The drain of the node is complete.' },
      ReadyForUpdate: { status: 'True', means: 'The agent on the node can start the update.' },
      UpdateSuccessful: { status: 'True', means: 'The agent reported a successful update.' },
      UpdateFailed: {
        status: 'True',
        means: 'The agent reported a failed update. The message of the condition contains the error of the agent.',
        help: 'Correct the template, or undo the rollout.',
      },
    } satisfies Record<InPlaceUpdateReason, ReasonMeaning>,
  },
  Preserved: {
    means:
      'Whether the machine of the node is preserved. The message of the condition contains the end time of the preservation and the result of the drain.',
    reasons: {
      'Preserved by MCM.': {
        status: 'True',
        means: 'The machine failed, and mcm preserves the machine automatically.',
      },
      'Preserved by user.': {
        status: 'True',
        means: 'An annotation on the Machine or the Node requests the preservation of the machine.',
      },
      'Preservation stopped.': { status: 'False', means: 'The preservation of the machine ended.' },
    } satisfies Record<(typeof PreservedReasons)[keyof typeof PreservedReasons], ReasonMeaning>,
  },
  Terminating: {
    means: 'The machine of the node is being deleted.',
    reasons: {
      ScaleDown: {
        status: 'True',
        means: 'The node is healthy. A user, a scale-in or a rollout deletes the machine.',
      },
      Unhealthy: { status: 'True', means: 'The machine was Failed before its deletion.' },
    } satisfies Record<keyof typeof TerminatingReasons, ReasonMeaning>,
  },
} as const satisfies Readonly<Record<string, ConditionMeaning>>;

/** A combination of type, reason and status that a table of conditions allows. */
export type ConditionWords<Table extends Readonly<Record<string, ConditionMeaning>>> = {
  [Type in keyof Table & string]: {
    [Reason in keyof Table[Type]['reasons'] & string]: {
      readonly type: Type;
      readonly status: Table[Type]['reasons'][Reason]['status'];
      readonly reason: Reason;
    };
  }[keyof Table[Type]['reasons'] & string];
}[keyof Table & string];
