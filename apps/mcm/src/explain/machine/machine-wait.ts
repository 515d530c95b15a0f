import {
  formatDurationMs,
  formatTime,
  isForceDeletion,
  type Machine,
  type MachineClass,
  NodeConditions,
  STEP_TEXTS,
  Taints,
} from '@mcm/api';
import {
  awaitedReadiness,
  type CreationStep,
  describeUnhealthy,
  FORCED,
  healthDeadline,
  interruptionOf,
  interruptionTimes,
  joinDeadline,
  MACHINE_DEFAULTS,
  type MachineDefaults,
  powerOf,
  settingsOf,
  type UndrainablePolicy,
  undrainablePolicyOf,
  warmStateOf,
} from '@mcm/core';
import { isDeletionAhead } from '../../controllers/health.ts';
import { brief, KEPT_UPDATE } from '../reasons/brief.ts';

/** What a machine currently does or waits for, with its deadline. */
export interface MachineWait {
  readonly name: string;
  readonly phase: string;
  readonly since?: string | undefined;
  readonly doing: string;
  /** The deadline of the wait, and what happens at this time. If the phase has no deadline, `deadline` is undefined. */
  readonly deadline?: { readonly at: Date; readonly then: string } | undefined;
  readonly errorCode?: string | undefined;
}

/** If a Running machine waits for the node readiness controller, returns this wait. */
function readinessWait(machine: Machine, phase: string): MachineWait | undefined {
  const awaited = awaitedReadiness(machine);
  if (!awaited) return undefined;
  const { since, taints } = awaited;
  const taintText = `the Node has the ${taints.length === 1 ? 'taint' : 'taints'} ${taints.join(', ')} since ${since}`;
  return {
    name: machine.metadata.name,
    phase,
    since,
    doing: `${taintText}, so the machine does not count as available`,
  };
}

/**
 * Returns what a machine waits for. Deadlines come from the spec of the machine, or from the flags of the machine
 * controller.
 *
 * @param machineClass The class of the machine, which may contain the undrainable policy. Without a class, the
 * undrainable policy of the machine applies.
 * @param holds The reasons from `replacementHolds` that prevent a replacement now.
 * @param defaults The flags of the machine controller.
 */
export function machineWait(
  machine: Machine,
  machineClass?: MachineClass,
  defaults: MachineDefaults = MACHINE_DEFAULTS,
  holds: readonly string[] = [],
): MachineWait | undefined {
  const { metadata, status = {} } = machine;
  const phase = metadata.deletionTimestamp ? 'Terminating' : status.currentStatus?.phase || 'Creating';
  if (phase === 'Running' || phase === 'Available') return warmWait(machine, phase) ?? readinessWait(machine, phase);
  const operation = isDeletionAhead(machine) ? undefined : status.lastOperation;
  const deadline = deadlineOf(machine, machineClass, phase, defaults, holds);
  const since = sinceOf(machine);
  const isKept = holds.includes(KEPT_UPDATE);
  return {
    name: metadata.name,
    phase,
    since: since || undefined,
    doing: [
      doingOf(machine, phase, defaults),
      interruptedText(machine),
      isKept ? `mcm keeps the machine, because ${KEPT_UPDATE}` : '',
    ]
      .filter((text) => text !== '')
      .join('; '),
    deadline: isKept ? undefined : deadline,
    errorCode: operation?.errorCode || undefined,
  };
}

/** If the Node is Ready, but a taint delays the machine, adds this taint to the text of the wait. */
export function withTaint(wait: MachineWait, step: CreationStep | undefined): MachineWait {
  switch (step?.type) {
    case 'CriticalComponentsReady':
      return { ...wait, doing: `the node is Ready and has the taint ${Taints.CriticalComponentsNotReady.key}` };
    case 'ReadinessTaintsRemoved':
      return { ...wait, doing: `the node is Ready and has the taint ${step.reason}` };
    default:
      return wait;
  }
}

/** Returns the wait of a warm machine, which waits for a scale-up. */
function warmWait(machine: Machine, phase: string): MachineWait | undefined {
  const state = warmStateOf(machine);
  if (state === undefined) return undefined;
  const waiting = (doing: string) => ({ name: machine.metadata.name, phase, since: sinceOf(machine), doing });
  if (state === 'Running') return waiting('the machine is warm: its node has a taint until a scale-up');
  const power = powerOf(machine)?.is;
  if (power === undefined) return waiting('the machine is warm, and mcm will stop its VM');
  return waiting(
    `the machine is warm: its VM is ${power === 'Stopped' ? 'stopped until a scale-up' : 'being stopped'}`,
  );
}

/**
 * Returns what a machine does. If the status of the machine only reports a completed step, mcm writes its own text
 * instead.
 */
function doingOf(machine: Machine, phase: string, defaults: MachineDefaults): string {
  const { spec, status } = machine;
  if (isDeletionAhead(machine))
    return 'the deletion is requested, and the machine controller has not started the deletion yet';
  const { description = '', state } = status?.lastOperation ?? {};
  if (phase === 'Pending' && spec.providerID && state !== 'Failed') {
    if (status?.conditions?.some(({ type, status: is }) => type === NodeConditions.Ready && is === 'True'))
      return 'the node is Ready, and a taint or another condition of the node delays the machine';
    return powerOf(machine)
      ? 'the machine was warm: its VM is starting, and the node is not Ready yet'
      : 'the VM exists, and the node has not joined yet or is not Ready';
  }
  const text = brief(description) || 'mcm is creating the VM, or waits for a free worker to create the VM';
  return phase === 'Unknown' ? text.replace(UNHEALTHY, unhealthy(machine, text, defaults)) : text;
}

const UNHEALTHY = /Machine \S+ is unhealthy - changing MachinePhase to Unknown/;

function unhealthy(machine: Machine, text: string, defaults: MachineDefaults): string {
  const { conditions = [] } = machine.status ?? {};
  const unhealthyText = describeUnhealthy(conditions, settingsOf(machine, defaults).unhealthyConditionTypes);
  const known = unhealthyText && conditions.length > 0 && !text.includes(NODE_MISSING);
  return `the machine is unhealthy${known ? `: ${unhealthyText}` : ''}`;
}

const NODE_MISSING = 'Node object went missing';

export function sinceOf({ metadata, status }: Machine): string | undefined {
  const { phase, lastUpdateTime } = status?.currentStatus ?? {};
  const unborn = phase === undefined || phase === 'Pending' || phase === 'CrashLoopBackOff';
  return metadata.deletionTimestamp ?? (unborn ? metadata.creationTimestamp : lastUpdateTime);
}

/** Returns the code of the last error that the cloud returned for a machine. */
export function refusalOf({ status }: Machine): string | undefined {
  const { state, errorCode, description = '' } = status?.lastOperation ?? {};
  return state === 'Failed' ? errorCode || /code = \[(\w+)\]/.exec(description)?.[1] : undefined;
}

export function isPastDrain({ status }: Machine): boolean {
  const text = status?.lastOperation?.description ?? '';
  return [STEP_TEXTS.deleteVm, STEP_TEXTS.deleteNode, STEP_TEXTS.removeFinalizer].some((step) => text.includes(step));
}

const isWaitingForVolumes = ({ status }: Machine): boolean =>
  status?.lastOperation?.description?.includes('volumes are still attached') ?? false;

const LEFT_ATTACHED =
  'mcm deletes the Node anyway; pods that need the volumes may wait until a user detaches the volumes';

/** What happens to the pods of a node when the drain timeout expires, by undrainable policy. */
const AFTER_DRAIN: Readonly<Record<UndrainablePolicy, string>> = {
  Force: 'mcm forces the drain',
  Quarantine:
    'evictions stop, and the node stays cordoned until the remaining pods end or the label force-deletion is set',
  Hold: 'evictions continue without a time limit, until all pods end or the label force-deletion is set',
  Fail: 'the drain fails, and mcm keeps the VM until the remaining pods end or the label force-deletion is set',
};

function outcomeOf(consequence: string, { metadata }: Machine, holds: readonly string[]): string {
  // No controller replaces a machine without a MachineSet, so the text mentions no replacement.
  if (!metadata.ownerReferences?.some(({ controller }) => controller)) return `the machine may be ${consequence}`;
  if (holds.length === 0) return `the machine may be ${consequence} and replaced`;
  return `the machine may be ${consequence}, but mcm does not replace the machine while ${holds.join(', or ')}`;
}

/** If the cloud interrupts the VM of a machine, returns the reason why mcm deletes the machine immediately. */
function interruptedText(machine: Machine): string {
  const interruption = interruptionOf(machine);
  if (!interruption) return '';
  const { kind, deadline } = interruption;
  return `the cloud interrupts the VM (${kind}, deadline ${formatTime(deadline)})`;
}

function deadlineOf(
  machine: Machine,
  machineClass: MachineClass | undefined,
  phase: string,
  defaults: MachineDefaults,
  holds: readonly string[],
): MachineWait['deadline'] {
  const settings = settingsOf(machine, defaults, machineClass);
  const interruption = interruptionOf(machine);
  const at = (since: string | undefined, deadline: Date, then: string) =>
    since === undefined || Number.isNaN(Date.parse(since)) ? undefined : { at: deadline, then };
  const from = (since: string | undefined, ms: number, then: string) => {
    const start = since === undefined ? Number.NaN : Date.parse(since);
    return Number.isNaN(start) ? undefined : { at: new Date(start + ms), then };
  };
  const since = machine.status?.currentStatus?.lastUpdateTime;
  const may = (consequence: string): string => outcomeOf(consequence, machine, holds);
  switch (phase) {
    case 'Creating':
    case 'Pending':
    case 'CrashLoopBackOff':
      return at(machine.metadata.creationTimestamp, joinDeadline(machine, settings), may('Failed'));
    case 'Unknown':
    case 'InPlaceUpdateFailed':
      return settings.healthTimeoutDisabled ? undefined : at(since, healthDeadline(machine, settings), may('Failed'));
    case 'Failed':
      return from(machine.status?.currentStatus?.preserveExpiryTime, 0, `the preservation ends, and ${may('deleted')}`);
    case 'InPlaceUpdating':
      return from(since, settings.inPlaceUpdateTimeoutMs, 'the update in place has failed');
    case 'Terminating':
      if (isWaitingForVolumes(machine))
        return from(machine.status?.lastOperation?.lastUpdateTime, settings.volumeDetachTimeoutMs, LEFT_ATTACHED);
      // If the cloud cannot identify a machine's VM, the machine controller does not drain the node.
      if (isForceDeletion(machine) || isPastDrain(machine) || refusalOf(machine)) return undefined;
      if (interruption)
        return at(
          machine.metadata.deletionTimestamp,
          interruptionTimes(interruption, settings.drainTimeoutMs).forceAt,
          AFTER_DRAIN.Force,
        );
      return from(
        machine.metadata.deletionTimestamp,
        settings.drainTimeoutMs,
        AFTER_DRAIN[(settings.undrainablePolicy ? undrainablePolicyOf(machine, machineClass) : FORCED).policy],
      );
    default:
      return undefined;
  }
}

export const waitLine = (wait: MachineWait, now: Date): string =>
  `machine ${wait.name} (${wait.phase}): ${waitText(wait, now)}`;

/** Returns the text of a wait, but omits the name and the phase, because the output has separate columns for both. */
export function waitText(wait: MachineWait, now: Date): string {
  const reported = wait.errorCode === undefined || wait.doing.includes(wait.errorCode);
  const code = reported ? '' : ` [${wait.errorCode}]`;
  return `${wait.doing}${code}${wait.deadline ? `; ${due(wait.deadline, now)}` : ''}`;
}

function due({ at, then }: NonNullable<MachineWait['deadline']>, now: Date): string {
  const left = at.getTime() - now.getTime();
  return left > 0
    ? `in ${formatDurationMs(Math.ceil(left / 1000) * 1000)} ${then}`
    : `due since ${formatDurationMs(Math.floor(-left / 1000) * 1000)}: ${then}`;
}
