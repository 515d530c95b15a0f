import type { ConditionMeaning } from '@mcm/api';
import type { KubeletConditions, PoolConditions, TemplateConditions } from './conditions.ts';

const SELECTS_ALL = {
  status: 'True',
  means: 'A selector of the pool is empty and would select everything. Nothing is done.',
  help: 'Give it `matchLabels` or `matchExpressions`.',
} as const;
const CLAIMED = {
  status: 'True',
  means: 'Several custom pools claim the same nodes, which then get nothing from any.',
  help: 'Change the labels of the nodes or `spec.nodeSelector` of the pools, so that one custom pool claims each.',
} as const;
const CANNOT_BE_APPLIED = {
  status: 'True',
  means:
    '`maxUnavailable` or an annotation by which nodes are told says nothing that makes sense: no further node is told.',
  help: 'Correct what the message names.',
} as const;

/** Every condition that the machine-config-controller writes on a MachineConfigPool; `''` is one without a reason. */
export const POOL_CONDITIONS = {
  Updated: {
    means: 'All nodes of the pool have the target.',
    reasons: {
      '': {
        status: 'True',
        means: 'They have; with `False`: some have not, and `Updating` says whether that changes.',
      },
    },
  },
  Updating: {
    means: 'The pool brings the target to its nodes.',
    reasons: {
      '': {
        status: 'True',
        means: 'It does; with `False`: it is done, paused, or held by what the message names.',
        help: '`mcm config explain pool/NAME` names each node and what it waits for.',
      },
    },
  },
  NodeDegraded: {
    means:
      'Nodes of the pool say that they cannot go on. The reason counts them: `2 nodes are reporting degraded status on sync`.',
    reasons: {
      '': { status: 'False', means: 'No node says so.' },
      'N nodes are reporting degraded status on sync': {
        status: 'True',
        means: 'The message has what the daemon of each node says.',
        help: 'Runbook McmPoolDegraded.',
      },
    },
  },
  RenderDegraded: {
    means: 'No config can be rendered for the pool; the last good one stays the target.',
    reasons: {
      '': {
        status: 'True',
        means: 'The message says why, and the cure; with `False`: all is well.',
        help: 'Runbook McmPoolDegraded.',
      },
      SelectingAll: SELECTS_ALL,
      TemplatesFailed: {
        status: 'True',
        means: 'The ControllerConfig makes no MachineConfigs.',
        help: 'Correct what the message names, in the template or in the ControllerConfig.',
      },
      ConfigRejected: {
        status: 'True',
        means: 'The pool was rendered without a KubeletConfig or ContainerRuntimeConfig that was refused.',
        help: 'Correct the object that the message names.',
      },
    },
  },
  Degraded: {
    means: 'Any of what is wrong with the pool, in one place.',
    reasons: {
      '': {
        status: 'True',
        means: 'Nodes or rendering are degraded; with `False`: all is well.',
        help: 'Runbook McmPoolDegraded.',
      },
      SelectingAll: SELECTS_ALL,
      AmbiguousMembership: CLAIMED,
      CannotBeApplied: CANNOT_BE_APPLIED,
    },
  },
  ImageBuildDegraded: {
    means: 'Left behind by a builder of images that does not run here.',
    reasons: { NoLayeredObjects: { status: 'False', means: 'Nothing builds images: what was said is cleared.' } },
  },
  MachineRefResolved: {
    means: 'Whether `spec.machineRefs` lead to machines. Not in the original.',
    reasons: {
      Found: { status: 'True', means: 'All do.' },
      NotFound: {
        status: 'False',
        means: 'What the message names is not there.',
        help: 'Create it, or take it out of `machineRefs`.',
      },
      Forbidden: {
        status: 'False',
        means: 'The template may not be the pool’s, replaces no machine, or may not be read.',
        help: 'The message says which, and what to change.',
      },
      Ambiguous: {
        status: 'False',
        means: 'A machine is claimed by several pools.',
        help: 'Let one pool refer to it.',
      },
      NotFollowed: {
        status: 'False',
        means: 'The controller follows no machines.',
        help: 'Start it with `--machine-pools`.',
      },
    },
  },
  RequiresReplacement: {
    means: 'Machines are replaced to bring the target to them. Not in the original.',
    reasons: {
      '': { status: 'False', means: 'Not now.' },
      Replace: { status: 'True', means: '`updateStrategy` asks for it.' },
      Irreconcilable: { status: 'True', means: 'What a node has cannot be brought to the target in place.' },
    },
  },
  RolloutHalted: {
    means: 'No further node is told the target. Not in the original.',
    reasons: {
      '': { status: 'False', means: 'It was halted and goes on.' },
      NodesDegraded: {
        status: 'True',
        means: 'Too many nodes degraded on it.',
        help: 'Undo the change that made the target, or mend the nodes: runbook McmPoolDegraded.',
      },
    },
  },
  NodesClaimed: {
    means: 'Other custom pools claim nodes of the pool. Not in the original.',
    reasons: { '': { status: 'False', means: 'They did.' }, AmbiguousMembership: CLAIMED },
  },
  WritesForbidden: {
    means: 'A role does not let the controller write what the pool needs. Not in the original.',
    reasons: {
      '': { status: 'False', means: 'It did not.' },
      RoleLacksPermission: {
        status: 'True',
        means: 'The API server refuses a write.',
        help: 'Grant the verb that the message names.',
      },
    },
  },
  SettingsInvalid: {
    means: 'What the pool says of how nodes are told. Not in the original.',
    reasons: {
      '': { status: 'False', means: 'It was wrong and is right.' },
      CannotBeApplied: CANNOT_BE_APPLIED,
      CountsAsOne: {
        status: 'False',
        means: '`maxUnavailable` comes to 0 nodes and counts as 1.',
        help: 'Write a number of 1 and more.',
      },
    },
  },
  CanaryPassed: {
    means: 'Whether the canaries of the pool have the target. Not in the original.',
    reasons: {
      Waiting: { status: 'False', means: 'Not all canaries have it and are Ready.' },
      Updated: { status: 'True', means: 'They have; the others follow after the soak.' },
    },
  },
} as const satisfies Readonly<
  Record<(typeof PoolConditions)[keyof typeof PoolConditions] | 'ImageBuildDegraded', ConditionMeaning>
>;

/** Every condition that the machine-config-controller writes on the ControllerConfig. */
export const TEMPLATE_CONDITIONS = {
  TemplateControllerCompleted: {
    means: 'The templates made their MachineConfigs.',
    reasons: { '': { status: 'True', means: 'Of the generation in the message; with `False`: not of this one.' } },
  },
  TemplateControllerRunning: {
    means: 'The templates are being worked on.',
    reasons: { '': { status: 'True', means: 'A new generation is worked on; pools wait for it.' } },
  },
  TemplateControllerFailing: {
    means: 'The templates make nothing.',
    reasons: {
      '': {
        status: 'True',
        means: 'The message names the template or the field; with `False`: all is well.',
        help: 'Correct it: until then no pool is rendered anew.',
      },
    },
  },
} as const satisfies Readonly<Record<(typeof TemplateConditions)[keyof typeof TemplateConditions], ConditionMeaning>>;

/** Every condition that the machine-config-controller writes on a KubeletConfig or ContainerRuntimeConfig. The last one counts. */
export const NODE_CONFIG_CONDITIONS = {
  Accepted: {
    means: 'The last three verdicts on a KubeletConfig.',
    reasons: { '': { status: 'True', means: 'It was applied; with `False`: it was refused, the message says why.' } },
  },
  Success: { means: 'The last word.', reasons: { '': { status: 'True', means: 'The object was applied.' } } },
  Failure: {
    means: 'The last word.',
    reasons: {
      '': {
        status: 'True',
        means: 'The object was refused, or its MachineConfig cannot be written.',
        help: 'Correct the field that the message names.',
      },
    },
  },
  UnknownFields: {
    means: 'Fields that nobody reads; absent without any. Not in the original.',
    reasons: {
      Ignored: { status: 'True', means: 'The rest is applied.', help: 'Correct the names, or take them out.' },
    },
  },
} as const satisfies Readonly<Record<(typeof KubeletConditions)[keyof typeof KubeletConditions], ConditionMeaning>>;
