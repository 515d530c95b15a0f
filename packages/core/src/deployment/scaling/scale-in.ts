import { Annotations, formatTime, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { tryParseJson } from '@mcm/kube';
import { isFailed, isPreserved, isTerminating } from '../../objects/machines.ts';
import { splitSets } from '../../rollout/revisions.ts';
import { parseInstant, parseInteger } from '../../values/integers.ts';
import type { PlannedEvent } from '../state/rollback.ts';

/** Reasons of the events about scale-ins. */
export const ScaleInReasons = {
  Accepted: 'ScaleInAccepted',
  Refused: 'ScaleInRefused',
  /** The reason why mcm does not delete a named machine now. */
  Pending: 'ScaleInPending',
} as const;

/**
 * The maximum number of results in the annotation. The manager recognizes a repeated request by its recorded result.
 */
const REMEMBERED = 16;
const MAX_ID_LENGTH = 128;

/** A scale-in request: one write of the client contains the names of the machines and the reduced replicas. */
export interface ScaleIn {
  /** A second scale-in with an equal request ID changes nothing. */
  readonly requestID: string;
  readonly machines: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** The result of a scale-in, as stored in the annotation of the deployment. */
export interface ScaleInResult {
  readonly requestID: string;
  readonly outcome: 'Accepted' | 'Refused';
  readonly message: string;
}

/** A valid scale-in request, or a sentence that describes the error in an invalid request. */
export type ParsedScaleIn = { readonly request: ScaleIn } | { readonly problem: string; readonly requestID: string };

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isId = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH;

/** Parses the annotation `scale-in` and never throws. */
export function parseScaleIn(text: string): ParsedScaleIn {
  const value = tryParseJson(text);
  const { requestID, machines, from, to }: Partial<Record<keyof ScaleIn, unknown>> =
    typeof value === 'object' && value !== null ? value : {};
  const wrong = (problem: string): ParsedScaleIn => ({
    requestID: isId(requestID) ? requestID : '',
    problem: `metadata.annotations[${Annotations.ScaleIn}]: ${problem}`,
  });
  if (!isId(requestID))
    return wrong(`the field "requestID" must be a string of 1 to ${MAX_ID_LENGTH} characters in a JSON object`);
  if (!Array.isArray(machines) || !machines.every((name) => typeof name === 'string' && name !== '')) {
    return wrong('the field "machines" must be a list of machine names');
  }
  if (!isCount(from) || !isCount(to)) return wrong('the fields "from" and "to" must be integers of 0 or more');
  if (machines.length === 0 || new Set(machines).size !== machines.length) {
    return wrong('the field "machines" must contain at least one name and no duplicates');
  }
  if (to !== from - machines.length) {
    return wrong(
      `the field "to" must be "from" minus the number of machines (${from} - ${machines.length}), not ${to}`,
    );
  }
  return { request: { requestID, machines, from, to } };
}

/** Returns the recorded results of scale-ins, newest first. Invalid entries are omitted. */
export function scaleInResults(deployment: MachineDeployment): readonly ScaleInResult[] {
  const value = tryParseJson(deployment.metadata.annotations?.[Annotations.ScaleInResults] ?? '[]');
  return Array.isArray(value) ? value.filter((entry) => isId(entry?.requestID)) : [];
}

export interface ScaleInSnapshot {
  readonly deployment: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly machinesOf: (set: MachineSet) => readonly Machine[];
  readonly now: Date;
}

export interface ScaleInPlan {
  readonly annotations: Readonly<Record<string, string | null>>;
  /** The value to which mcm resets `spec.replicas` if it refuses the scale-in. */
  readonly replicas?: number;
  readonly event: PlannedEvent | undefined;
}

const acceptedText = ({ requestID, machines, from, to }: ScaleIn): string =>
  `Accepted scale-in ${requestID} from ${from} to ${to}: ${machines.join(', ')}`;

/** Parses the message of an accepted scale-in. */
function acceptedIn({ requestID, outcome, message }: ScaleInResult): ScaleIn | undefined {
  const prefix = `Accepted scale-in ${requestID} `;
  if (outcome !== 'Accepted' || typeof message !== 'string' || !message.startsWith(prefix)) return undefined;
  const [, from, to, names = ''] = /^from (\d+) to (\d+): (.+)$/.exec(message.slice(prefix.length)) ?? [];
  return names === '' ? undefined : { requestID, machines: names.split(', '), from: Number(from), to: Number(to) };
}

/**
 * Returns the accepted scale-ins that the current set does not contain yet, oldest first. The manager can stop, or the
 * API server can refuse the write of the set, after the manager has accepted a scale-in.
 */
function openScaleIns({ deployment, sets, machinesOf }: ScaleInSnapshot): readonly ScaleIn[] {
  const { current } = splitSets(deployment, sets);
  let replicas = desiredOf(current);
  const staying = current ? machinesOf(current).filter((machine) => !isTerminating(machine)) : [];
  const names = new Set(staying.map(({ metadata }) => metadata.name));
  const accepted = scaleInResults(deployment).flatMap((result) => acceptedIn(result) ?? []);
  return accepted.toReversed().filter(({ machines, from, to }) => {
    const isOpen = from === replicas && machines.every((name) => names.has(name));
    if (isOpen) replicas = to;
    return isOpen;
  });
}

const desiredOf = (set: MachineSet | undefined): number | undefined =>
  parseInteger(set?.metadata.annotations?.[Annotations.DesiredReplicas]);

function replicasBefore(snapshot: ScaleInSnapshot): number | undefined {
  const { current } = splitSets(snapshot.deployment, snapshot.sets);
  return openScaleIns(snapshot).at(-1)?.to ?? desiredOf(current);
}

function objection(request: ScaleIn, snapshot: ScaleInSnapshot): string | undefined {
  const { deployment } = snapshot;
  const replicas = deployment.spec.replicas ?? 0;
  if (replicas !== request.to)
    return `spec.replicas is ${replicas}, but the field "to" of the request is ${request.to}: spec.replicas changed after the request`;
  const before = replicasBefore(snapshot);
  if (before !== undefined && before !== request.from) {
    return `the field "from" of the request is ${request.from}, but spec.replicas was ${before}; read the deployment again`;
  }
  const going = new Set(openScaleIns(snapshot).flatMap(({ machines }) => machines));
  const repeated = request.machines.find((name) => going.has(name));
  if (repeated !== undefined) return `${repeated} is already being deleted`;
  return scaleInObjection(request, snapshot);
}

/** Returns the reason why mcm cannot delete the named machines now. */
export function scaleInObjection(
  request: Pick<ScaleIn, 'machines' | 'from' | 'to'>,
  { deployment, sets, machinesOf, now }: ScaleInSnapshot,
): string | undefined {
  const { current, old } = splitSets(deployment, sets);
  if (old.some((set) => (set.spec.replicas ?? 0) > 0 || machinesOf(set).length > 0)) {
    return 'a rollout is in progress; try again when the condition Progressing has the reason NewMachineSetAvailable';
  }
  const machines = new Map((current ? machinesOf(current) : []).map((machine) => [machine.metadata.name, machine]));
  for (const name of request.machines) {
    const machine = machines.get(name);
    if (machine === undefined) return `${name} is not a machine of this deployment`;
    if (isTerminating(machine)) return `${name} is already being deleted`;
    if (isFailed(machine)) return `${name} has failed and is being replaced`;
    if (isPreserved(machine, now)) return `${name} is preserved`;
  }
  return undefined;
}

function named({ machines }: ScaleIn, deployment: MachineDeployment, now: Date): Record<string, string> {
  const annotations = deployment.metadata.annotations ?? {};
  const time = formatTime(now);
  const list = annotations[Annotations.TriggerDeletion];
  const last = annotations[Annotations.LastReplicaChangeByScaler];
  return {
    [Annotations.TriggerDeletion]: [...(list ? [list] : []), ...machines.map((name) => `${name}~${time}`)].join(','),
    // The time of the last replica change by the autoscaler must not decrease. With an earlier time, accepted scale-ins
    // would lose their marks.
    [Annotations.LastReplicaChangeByScaler]:
      (parseInstant(last) ?? 0) > now.getTime() && last !== undefined ? last : time,
  };
}

const record = (deployment: MachineDeployment, result: ScaleInResult): Record<string, string | null> => ({
  [Annotations.ScaleIn]: null,
  [Annotations.ScaleInResults]: JSON.stringify([result, ...scaleInResults(deployment)].slice(0, REMEMBERED)),
});

/** A refused scale-in restores the replicas only if no other client has changed them. */
function restored(to: number | undefined, snapshot: ScaleInSnapshot): { replicas?: number } {
  const before = replicasBefore(snapshot);
  const present = snapshot.deployment.spec.replicas ?? 0;
  return before === undefined || before === present || to !== present ? {} : { replicas: before };
}

/**
 * Accepts or refuses the complete request in the annotation `scale-in`.
 * - A single write contains the result, so after a crash the deployment has either the request or its result.
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
  const message = acceptedText(request);
  return {
    annotations: {
      ...record(deployment, { requestID, outcome: 'Accepted', message }),
      ...named(request, deployment, now),
    },
    event: { type: 'Normal', reason: ScaleInReasons.Accepted, message },
  };
}
