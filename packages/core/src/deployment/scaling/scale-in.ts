import { Annotations, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { isFailed, isPreserved, isTerminating } from '../../objects/machines.ts';
import { splitSets } from '../../rollout/revisions.ts';
import { formatTime, parseInteger, parseTime } from '../../values/integers.ts';
import type { PlannedEvent } from '../state/rollback.ts';

/** Reasons of the events about scale-ins. */
export const ScaleInReasons = {
  Accepted: 'ScaleInAccepted',
  Refused: 'ScaleInRefused',
  /** A machine is named for deletion, and nothing is going to delete it for now. */
  Pending: 'ScaleInPending',
} as const;

/** So many outcomes are remembered, for writes that are repeated. */
const REMEMBERED = 16;
const MAX_ID_LENGTH = 128;

/** The removal of named machines together with the new count. */
export interface ScaleIn {
  /** Chosen by the author; a second write with the same id changes nothing. */
  readonly requestID: string;
  readonly machines: readonly string[];
  /** `spec.replicas` that the author saw. */
  readonly from: number;
  /** `spec.replicas` that the same write sets. */
  readonly to: number;
}

/** What became of a scale-in. */
export interface ScaleInResult {
  readonly requestID: string;
  readonly outcome: 'Accepted' | 'Refused';
  readonly message: string;
}

/** A request, or a sentence that says what is wrong with its text. */
export type ParsedScaleIn = { readonly request: ScaleIn } | { readonly problem: string; readonly requestID: string };

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isId = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The caller's sentence says what was expected.
  }
}

/** Reads the annotation. Total: any text gives a request or a sentence. */
export function parseScaleIn(text: string): ParsedScaleIn {
  const value = parseJson(text);
  const { requestID, machines, from, to }: Partial<Record<keyof ScaleIn, unknown>> =
    typeof value === 'object' && value !== null ? value : {};
  const wrong = (problem: string): ParsedScaleIn => ({
    requestID: isId(requestID) ? requestID : '',
    problem: `metadata.annotations[${Annotations.ScaleIn}]: ${problem}`,
  });
  if (!isId(requestID)) return wrong(`requestID must be a text of 1 to ${MAX_ID_LENGTH} characters, in a JSON object`);
  if (!Array.isArray(machines) || !machines.every((name) => typeof name === 'string' && name !== '')) {
    return wrong('machines must be a list of names of machines');
  }
  if (!isCount(from) || !isCount(to)) return wrong('from and to must be integers of 0 or more');
  if (machines.length === 0 || new Set(machines).size !== machines.length) {
    return wrong('machines must name at least one machine, and none of them twice');
  }
  if (to !== from - machines.length) {
    return wrong(`to must be from less the machines that are named: ${from} - ${machines.length}, not ${to}`);
  }
  return { request: { requestID, machines, from, to } };
}

/** The outcomes that are remembered, newest first. Rubbish counts as none. */
export function scaleInResults(deployment: MachineDeployment): readonly ScaleInResult[] {
  const value = parseJson(deployment.metadata.annotations?.[Annotations.ScaleInResults] ?? '[]');
  return Array.isArray(value) ? value.filter((entry) => isId(entry?.requestID)) : [];
}

/** What a scale-in is judged by. */
export interface ScaleInSnapshot {
  readonly deployment: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly machinesOf: (set: MachineSet) => readonly Machine[];
  readonly now: Date;
}

/** One write to the deployment that settles a scale-in. */
export interface ScaleInPlan {
  readonly annotations: Readonly<Record<string, string | null>>;
  /** The count to go back to, because the request that set the present one was refused. */
  readonly replicas?: number;
  readonly event: PlannedEvent | undefined;
}

/** Replicas that the sets were last scaled for: what the deployment had before this request. */
function replicasBefore({ deployment, sets }: ScaleInSnapshot): number | undefined {
  const { current } = splitSets(deployment, sets);
  return parseInteger(current?.metadata.annotations?.[Annotations.DesiredReplicas]);
}

/** Why the request must not be carried out; undefined: it may. */
function objection(request: ScaleIn, snapshot: ScaleInSnapshot): string | undefined {
  const { deployment, sets, machinesOf, now } = snapshot;
  const { current, old } = splitSets(deployment, sets);
  const replicas = deployment.spec.replicas ?? 0;
  if (replicas !== request.to)
    return `spec.replicas is ${replicas} and not ${request.to}: somebody has changed it since`;
  const before = replicasBefore(snapshot);
  if (before !== undefined && before !== request.from) {
    return `it expects ${request.from} replicas, and there were ${before}: read the deployment again`;
  }
  if (old.some((set) => (set.spec.replicas ?? 0) > 0 || machinesOf(set).length > 0)) {
    return 'a rollout is running: try again when the condition Progressing says NewMachineSetAvailable';
  }
  const machines = new Map((current ? machinesOf(current) : []).map((machine) => [machine.metadata.name, machine]));
  for (const name of request.machines) {
    const machine = machines.get(name);
    if (machine === undefined) return `${name} is no machine of this deployment`;
    if (isTerminating(machine)) return `${name} is being deleted already`;
    if (isFailed(machine)) return `${name} has failed and is being replaced`;
    if (isPreserved(machine, now)) return `${name} is preserved`;
  }
  return undefined;
}

/** The scaler's list and time with the named machines in it: the mechanism that marks and deletes reads those. */
function named({ machines }: ScaleIn, deployment: MachineDeployment, now: Date): Record<string, string> {
  const annotations = deployment.metadata.annotations ?? {};
  const time = formatTime(now);
  const list = annotations[Annotations.TriggerDeletion];
  const last = annotations[Annotations.LastReplicaChangeByScaler];
  return {
    [Annotations.TriggerDeletion]: [...(list ? [list] : []), ...machines.map((name) => `${name}~${time}`)].join(','),
    // Never backwards: an earlier time would forget what was named before.
    [Annotations.LastReplicaChangeByScaler]: (parseTime(last) ?? 0) > now.getTime() && last !== undefined ? last : time,
  };
}

const record = (deployment: MachineDeployment, result: ScaleInResult): Record<string, string | null> => ({
  [Annotations.ScaleIn]: null,
  [Annotations.ScaleInResults]: JSON.stringify([result, ...scaleInResults(deployment)].slice(0, REMEMBERED)),
});

/** A refused write leaves nothing behind: the count goes back, unless it is not the request's own any more. */
function restored(to: number | undefined, snapshot: ScaleInSnapshot): { replicas?: number } {
  const before = replicasBefore(snapshot);
  const present = snapshot.deployment.spec.replicas ?? 0;
  return before === undefined || before === present || to !== present ? {} : { replicas: before };
}

/**
 * Settles the request in the annotation scale-in, as a whole: the named machines enter the list of what the scaler
 * gives up, or nothing of the write stays. Undefined: there is none. The result is one write, so that a death before or
 * after it leaves either the request or its outcome; a request whose id is remembered is undone and not judged again.
 */
export function planScaleIn(snapshot: ScaleInSnapshot): ScaleInPlan | undefined {
  const { deployment, now } = snapshot;
  const text = deployment.metadata.annotations?.[Annotations.ScaleIn];
  if (text === undefined) return undefined;
  const parsed = parseScaleIn(text);
  const refuse = (requestID: string, why: string, to: number | undefined): ScaleInPlan => {
    const message = `Refused scale-in${requestID === '' ? '' : ` ${requestID}`}: ${why}`;
    const event = { type: 'Warning', reason: ScaleInReasons.Refused, message } as const;
    const annotations =
      requestID === ''
        ? { [Annotations.ScaleIn]: null }
        : record(deployment, { requestID, outcome: 'Refused', message });
    return { annotations, ...restored(to, snapshot), event };
  };
  if ('problem' in parsed) return refuse(parsed.requestID, parsed.problem, deployment.spec.replicas ?? 0);
  const { request } = parsed;
  const { requestID } = request;
  if (scaleInResults(deployment).some((result) => result.requestID === requestID)) {
    return { annotations: { [Annotations.ScaleIn]: null }, ...restored(request.to, snapshot), event: undefined };
  }
  const why = objection(request, snapshot);
  if (why !== undefined) return refuse(requestID, why, request.to);
  const message = `Accepted scale-in ${requestID} from ${request.from} to ${request.to}: ${request.machines.join(', ')}`;
  return {
    annotations: {
      ...record(deployment, { requestID, outcome: 'Accepted', message }),
      ...named(request, deployment, now),
    },
    event: { type: 'Normal', reason: ScaleInReasons.Accepted, message },
  };
}
