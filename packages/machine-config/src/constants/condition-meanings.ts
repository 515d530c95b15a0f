import type { ConditionMeaning } from '@mcm/api';
import type { KubeletConditions, PoolConditions, TemplateConditions } from './conditions.ts';

const SELECTS_ALL = {
  status: 'True',
  means: 'A selector of the pool is empty, so it matches all objects. The controller ignores the pool.',
  help: 'Add `matchLabels` or `matchExpressions` to the selector.',
} as const;
const OPEN_UNTIL = 'To continue now, set the annotation `rollout.machine.sapcloud.io/open-until` on the pool.';
const CLAIMED = {
  status: 'True',
  means: 'Several custom pools select the same nodes. No pool updates nodes that several custom pools select.',
  help: 'Change the labels of the nodes or `spec.nodeSelector` of the pools. At most one custom pool may select a node.',
} as const;
const CANNOT_BE_APPLIED = {
  status: 'True',
  means: '`maxUnavailable` or an annotation of the rollout has an invalid value. The pool updates no further node.',
  help: 'Correct the value that the message of the condition names.',
} as const;

/**
 * All conditions that the machine-config-controller writes on a MachineConfigPool. The key `''` is a condition without
 * a reason.
 */
export const POOL_CONDITIONS = {
  Updated: {
    means: 'All nodes of the pool have the target configuration.',
    reasons: {
      '': {
        status: 'True',
        means:
          'All nodes of the pool have the target configuration. The status `False` of `Updated` means that some nodes do not have the target configuration. The condition `Updating` shows the progress of the update.',
      },
    },
  },
  Updating: {
    means: 'The pool updates its nodes to the target configuration.',
    reasons: {
      '': {
        status: 'True',
        means:
          'The update is in progress. The status `False` of `Updating` means that the update is complete, paused or blocked. The message of the condition contains the cause.',
        help: '`mcm config explain pool/NAME` shows each node and the reason why the node waits.',
      },
    },
  },
  NodeDegraded: {
    means:
      'Nodes of the pool cannot continue their update. The reason of the condition contains the number of nodes: `2 nodes are reporting degraded status on sync`.',
    reasons: {
      '': { status: 'False', means: 'No node is degraded.' },
      'N nodes are reporting degraded status on sync': {
        status: 'True',
        means: 'The message of the condition contains the errors of the daemons.',
        help: 'Runbook McmPoolDegraded.',
      },
    },
  },
  RenderDegraded: {
    means:
      'The controller cannot render a configuration for the pool. The most recent valid configuration remains the target.',
    reasons: {
      '': {
        status: 'True',
        means:
          'The message of the condition contains the error and a hint. The status `False` means that the controller can render the pool.',
        help: 'Runbook McmPoolDegraded.',
      },
      SelectingAll: SELECTS_ALL,
      TemplatesFailed: {
        status: 'True',
        means: 'The controller cannot generate MachineConfigs from the ControllerConfig.',
        help: 'Correct the template or the ControllerConfig field that the message of the condition names.',
      },
      ConfigRejected: {
        status: 'True',
        means:
          'A KubeletConfig or ContainerRuntimeConfig is invalid. The controller rendered the pool without the invalid object.',
        help: 'Correct the object that the message of the condition names.',
      },
    },
  },
  Degraded: {
    means: 'The pool has at least one problem.',
    reasons: {
      '': {
        status: 'True',
        means:
          'A node of the pool is degraded, or the controller cannot render the pool. The status `False` of `Degraded` means that the pool has no problem.',
        help: 'Runbook McmPoolDegraded.',
      },
      SelectingAll: SELECTS_ALL,
      AmbiguousMembership: CLAIMED,
      CannotBeApplied: CANNOT_BE_APPLIED,
    },
  },
  ImageBuildDegraded: {
    means: 'State of the image builder of OpenShift. mcm has no image builder.',
    reasons: {
      NoLayeredObjects: {
        status: 'False',
        means: 'The controller cleared the condition, because mcm builds no images.',
      },
    },
  },
  MachineRefResolved: {
    means: 'Whether the controller found the machines of `spec.machineRefs`. The original does not have the condition.',
    reasons: {
      Found: { status: 'True', means: 'The controller found all machines.' },
      NotFound: {
        status: 'False',
        means:
          'An object in `spec.machineRefs` does not exist. The message of the condition contains the name of the missing object.',
        help: 'Create the missing object, or remove the reference from `machineRefs`.',
      },
      Forbidden: {
        status: 'False',
        means: 'The controller cannot use the reference because of a template, a strategy or a missing permission.',
        help: 'The message of the condition contains the cause of the problem and a hint.',
      },
      Ambiguous: {
        status: 'False',
        means: 'Several pools refer to the same machine.',
        help: 'Refer to the machine in only one pool.',
      },
      NotFollowed: {
        status: 'False',
        means: 'The controller does not support references to machines.',
        help: 'Start the controller with `--machine-pools`.',
      },
    },
  },
  RequiresReplacement: {
    means:
      'mcm replaces machines, so that the nodes of the pool get the target configuration. The original does not have the condition.',
    reasons: {
      '': { status: 'False', means: 'No replacement is necessary.' },
      Replace: { status: 'True', means: '`updateStrategy` is `Replace`.' },
      Irreconcilable: { status: 'True', means: 'A node cannot get the target configuration by an in-place update.' },
    },
  },
  RolloutHalted: {
    means: 'The rollout stopped, and the pool updates no further node. The original does not have the condition.',
    reasons: {
      '': { status: 'False', means: 'The rollout continues.' },
      NodesDegraded: {
        status: 'True',
        means: 'Too many nodes are Degraded after the update.',
        help: 'Revert the change of the configuration, or repair the nodes. Follow the runbook McmPoolDegraded.',
      },
    },
  },
  RolloutWaiting: {
    means:
      'The rollout waits for a rollout window, for the end of a freeze, or for nodes with a postponed update. The original does not have the condition.',
    reasons: {
      '': { status: 'False', means: 'The rollout may continue.' },
      OutsideWindow: { status: 'True', means: 'No rollout window of the pool is open.', help: OPEN_UNTIL },
      InFreeze: { status: 'True', means: 'A freeze of the pool forbids updates.', help: OPEN_UNTIL },
      InvalidWindow: {
        status: 'True',
        means: 'A rollout window or a freeze of the pool is invalid, so the pool updates no node.',
        help: 'Correct the annotation. The message of the condition contains the error in the window or freeze.',
      },
      NodePostponed: {
        status: 'True',
        means: 'All nodes without the target configuration have the label `rollout.machine.sapcloud.io/postpone`.',
        help: 'Remove the label, or set the annotation `rollout.machine.sapcloud.io/open-until` of the pool.',
      },
    },
  },
  NodesClaimed: {
    means: 'Other custom pools select nodes of the pool. The original does not have the condition.',
    reasons: {
      '': { status: 'False', means: 'No other pool selects nodes of the pool.' },
      AmbiguousMembership: CLAIMED,
    },
  },
  WritesForbidden: {
    means:
      'The controller does not have a permission that it needs for its writes. The original does not have the condition.',
    reasons: {
      '': { status: 'False', means: 'The controller has the missing permission again.' },
      RoleLacksPermission: {
        status: 'True',
        means: 'The API server refuses a write.',
        help: 'Grant the permission that the message of the condition names.',
      },
    },
  },
  SettingsInvalid: {
    means: 'Whether the settings of the rollout are invalid. The original does not have the condition.',
    reasons: {
      '': { status: 'False', means: 'The settings are valid again.' },
      CannotBeApplied: CANNOT_BE_APPLIED,
      CountsAsOne: {
        status: 'False',
        means: '`maxUnavailable` is 0 nodes, but the controller uses 1.',
        help: 'Set a number of at least 1.',
      },
    },
  },
  CanaryPassed: {
    means: 'Whether the canaries of the pool have the target configuration. The original does not have the condition.',
    reasons: {
      Waiting: { status: 'False', means: 'Some canaries do not have the target configuration, or are not Ready.' },
      Updated: {
        status: 'True',
        means:
          'All canaries have the target configuration. The controller updates the other nodes after the soak time.',
      },
    },
  },
} as const satisfies Readonly<
  Record<(typeof PoolConditions)[keyof typeof PoolConditions] | 'ImageBuildDegraded', ConditionMeaning>
>;

/** All conditions that the machine-config-controller writes on the ControllerConfig. */
export const TEMPLATE_CONDITIONS = {
  TemplateControllerCompleted: {
    means: 'The controller rendered MachineConfigs from the templates.',
    reasons: {
      '': {
        status: 'True',
        means:
          'The message of the condition contains the generation of the ControllerConfig. The status `False` means that the MachineConfigs of the current generation do not exist yet.',
      },
    },
  },
  TemplateControllerRunning: {
    means: 'The controller renders the templates.',
    reasons: {
      '': {
        status: 'True',
        means: 'The controller renders a new generation of templates, and the pools wait for the result.',
      },
    },
  },
  TemplateControllerFailing: {
    means: 'The controller cannot render the templates.',
    reasons: {
      '': {
        status: 'True',
        means:
          'The message of the condition contains the name of the invalid template or field. The status `False` means that the controller can render the pool.',
        help: 'Correct the template or the field of the ControllerConfig. The controller renders no pool until you correct the error.',
      },
    },
  },
} as const satisfies Readonly<Record<(typeof TemplateConditions)[keyof typeof TemplateConditions], ConditionMeaning>>;

/**
 * All conditions that the machine-config-controller writes on a KubeletConfig or ContainerRuntimeConfig. Only the last
 * condition in the list of a KubeletConfig is valid.
 */
export const NODE_CONFIG_CONDITIONS = {
  Accepted: {
    means: 'The three most recent results for a KubeletConfig.',
    reasons: {
      '': {
        status: 'True',
        means:
          'The controller applied the object. The status `False` means that the controller did not apply the object. The message of the condition contains the reason.',
      },
    },
  },
  Success: {
    means: 'The most recent result for the object.',
    reasons: { '': { status: 'True', means: 'The controller applied the object.' } },
  },
  Failure: {
    means: 'The most recent result for the object.',
    reasons: {
      '': {
        status: 'True',
        means: 'The object is invalid, or the controller cannot write its MachineConfig.',
        help: 'Correct the field that the message of the condition names.',
      },
    },
  },
  UnknownFields: {
    means:
      'The object has unknown fields. The condition is absent if the object has no unknown fields. The original does not have the condition.',
    reasons: {
      Ignored: {
        status: 'True',
        means: 'The controller ignores the unknown fields and applies the other fields.',
        help: 'Correct the names, or remove the fields.',
      },
    },
  },
} as const satisfies Readonly<Record<(typeof KubeletConditions)[keyof typeof KubeletConditions], ConditionMeaning>>;
