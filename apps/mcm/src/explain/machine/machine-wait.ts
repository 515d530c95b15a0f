import { formatDurationMs, isForceDeletion, type Machine, type MachineClass, STEP_TEXTS } from '@mcm/api';
import {
  ailmentsOf,
  FORCED,
  healthDeadline,
  joinDeadline,
  MACHINE_DEFAULTS,
  type MachineDefaults,
  settingsOf,
  type UndrainablePolicy,
  undrainablePolicyOf,
} from '@mcm/core';
import { brief } from '../brief.ts';

/** What one machine does or waits for, and until when. */
export interface MachineWait {
  readonly name: string;
  readonly phase: string;
  /** RFC 3339: see {@link sinceOf}. */
  readonly since?: string;
  /** What it does or waits for, in the controller's own words as far as they are for people. */
  readonly doing: string;
  /** When the phase ends by itself, and what then happens; absent when nothing is due. */
  readonly deadline?: { readonly at: Date; readonly then: string };
  /** Code of the last failure at the cloud. */
  readonly errorCode?: string;
}

/**
 * What a machine waits for; undefined for one that is Running and wants nothing. Deadlines are those of the machine's
 * spec, else of the machine controller's flags.
 * @param machineClass may hold the policy for machines that cannot be drained in time; without it the machine's own counts
 * @param holds what keeps it from its replacement now, see `replacementHolds`
 * @param defaults of its flags; those that it has without any, where nothing is known of them
 */
export function machineWait(
  machine: Machine,
  machineClass?: MachineClass,
  defaults: MachineDefaults = MACHINE_DEFAULTS,
  holds: readonly string[] = [],
): MachineWait | undefined {
  const { metadata, status = {} } = machine;
  const phase = metadata.deletionTimestamp ? 'Terminating' : status.currentStatus?.phase || 'Creating';
  if (phase === 'Running' || phase === 'Available') return undefined;
  const operation = status.lastOperation;
  const deadline = deadlineOf(machine, machineClass, phase, defaults, holds);
  const since = sinceOf(machine);
  return {
    name: metadata.name,
    phase,
    ...(since ? { since } : {}),
    doing: doingOf(machine, phase, defaults),
    ...(deadline ? { deadline } : {}),
    ...(operation?.errorCode ? { errorCode: operation.errorCode } : {}),
  };
}

/** The controller's own text, unless it reports a step that is over. */
function doingOf(machine: Machine, phase: string, defaults: MachineDefaults): string {
  const { spec, status } = machine;
  const { description = '', state } = status?.lastOperation ?? {};
  if (phase === 'Pending' && spec.providerID && state !== 'Failed')
    return 'its VM is there; it waits for the node to join and to be Ready';
  const text = brief(description) || 'nothing is told of it yet: its VM is being made, or waits for its turn';
  return phase === 'Unknown' ? text.replace(UNHEALTHY, unhealthy(machine, text, defaults)) : text;
}

const UNHEALTHY = /Machine \S+ is unhealthy - changing MachinePhase to Unknown/;

/** The conditions of a missing Node are out of date. */
function unhealthy(machine: Machine, text: string, defaults: MachineDefaults): string {
  const { conditions = [] } = machine.status ?? {};
  const ailments = ailmentsOf(conditions, settingsOf(machine, defaults).unhealthyConditionTypes);
  const known = ailments && conditions.length > 0 && !text.includes(NODE_MISSING);
  return `it is unhealthy${known ? `: ${ailments}` : ''}`;
}

const NODE_MISSING = 'Node object went missing';

/** When its deletion started, when it became unhealthy, or, until it first joins, when it was created. */
export function sinceOf({ metadata, status }: Machine): string | undefined {
  const { phase, lastUpdateTime } = status?.currentStatus ?? {};
  const unborn = phase === undefined || phase === 'Pending' || phase === 'CrashLoopBackOff';
  return metadata.deletionTimestamp ?? (unborn ? metadata.creationTimestamp : lastUpdateTime);
}

/** The error code of the cloud's last refusal. */
export function refusalOf({ status }: Machine): string | undefined {
  const { state, errorCode, description = '' } = status?.lastOperation ?? {};
  return state === 'Failed' ? errorCode || /code = \[(\w+)\]/.exec(description)?.[1] : undefined;
}

/** Whether the deletion has reached steps that the drain timeout does not limit. */
export function isPastDrain({ status }: Machine): boolean {
  const text = status?.lastOperation?.description ?? '';
  return [STEP_TEXTS.deleteVm, STEP_TEXTS.deleteNode, STEP_TEXTS.removeFinalizer].some((step) => text.includes(step));
}

/** Its VM is gone, but volumes are still attached to its Node. */
const isWaitingForVolumes = ({ status }: Machine): boolean =>
  status?.lastOperation?.description?.includes('volumes are still attached') ?? false;

const LEFT_ATTACHED =
  'its Node goes all the same; whoever needs its volumes may then wait for somebody to take them off';

/** What happens to the pods on a node when the drain timeout expires. */
const AFTER_DRAIN: Readonly<Record<UndrainablePolicy, string>> = {
  Force: 'its drain is forced',
  Quarantine: 'evicting ends, and it stays cordoned until what is left on it has ended by itself, or force-deletion',
  Hold: 'nothing is forced: evicting goes on until its pods are gone, or force-deletion',
};

/**
 * What follows a failure. It may change: the machine controller does not check health while an API server is unreachable,
 * and the reasons against a replacement may change.
 */
function replacementOf({ metadata }: Machine, holds: readonly string[]): string {
  // No set owns it, so no controller replaces it.
  if (!metadata.ownerReferences?.some(({ controller }) => controller)) return '';
  return holds.length === 0 ? ' and replaced' : `, but it is not replaced as long as ${holds.join(', or ')}`;
}

function deadlineOf(
  machine: Machine,
  machineClass: MachineClass | undefined,
  phase: string,
  defaults: MachineDefaults,
  holds: readonly string[],
): MachineWait['deadline'] {
  const settings = settingsOf(machine, defaults);
  // As the machine controller counts: a machine that is updated or joined late has more time.
  const at = (since: string | undefined, deadline: Date, then: string) =>
    since === undefined || Number.isNaN(Date.parse(since)) ? undefined : { at: deadline, then };
  const from = (since: string | undefined, ms: number, then: string) => {
    const start = since === undefined ? Number.NaN : Date.parse(since);
    return Number.isNaN(start) ? undefined : { at: new Date(start + ms), then };
  };
  const since = machine.status?.currentStatus?.lastUpdateTime;
  const may = (what: string): string => `it may be ${what}${replacementOf(machine, holds)}`;
  switch (phase) {
    case 'Creating':
    case 'Pending':
    case 'CrashLoopBackOff':
      return at(machine.metadata.creationTimestamp, joinDeadline(machine, settings), may('Failed'));
    case 'Unknown':
    case 'InPlaceUpdateFailed':
      return settings.healthTimeoutDisabled ? undefined : at(since, healthDeadline(machine, settings), may('Failed'));
    case 'Failed':
      return from(machine.status?.currentStatus?.preserveExpiryTime, 0, `its preservation ends, and ${may('deleted')}`);
    case 'InPlaceUpdating':
      return from(since, settings.inPlaceUpdateTimeoutMs, 'the update has failed');
    case 'Terminating':
      if (isWaitingForVolumes(machine))
        return from(machine.status?.lastOperation?.lastUpdateTime, settings.volumeDetachTimeoutMs, LEFT_ATTACHED);
      // The machine controller does not drain a machine if the cloud cannot identify its node.
      if (isForceDeletion(machine) || isPastDrain(machine) || refusalOf(machine)) return undefined;
      return from(
        machine.metadata.deletionTimestamp,
        settings.drainTimeoutMs,
        AFTER_DRAIN[(settings.undrainablePolicy ? undrainablePolicyOf(machine, machineClass) : FORCED).policy],
      );
    default:
      return undefined;
  }
}

/** One line for a person. */
export const waitLine = (wait: MachineWait, now: Date): string =>
  `machine ${wait.name} (${wait.phase}): ${waitText(wait, now)}`;

/** The same without name and phase, for an output that shows them next to it. */
export function waitText(wait: MachineWait, now: Date): string {
  // The cloud's own message may contain the code already.
  const told = wait.errorCode === undefined || wait.doing.includes(wait.errorCode);
  const code = told ? '' : ` [${wait.errorCode}]`;
  return `${wait.doing}${code}${wait.deadline ? `; ${due(wait.deadline, now)}` : ''}`;
}

function due({ at, then }: NonNullable<MachineWait['deadline']>, now: Date): string {
  const left = at.getTime() - now.getTime();
  return left > 0
    ? `in ${formatDurationMs(Math.ceil(left / 1000) * 1000)} ${then}`
    : `due since ${formatDurationMs(Math.floor(-left / 1000) * 1000)}: ${then}`;
}
