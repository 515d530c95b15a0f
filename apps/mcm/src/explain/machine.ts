import {
  Annotations,
  formatDurationMs,
  Labels,
  type Machine,
  type MachineClass,
  machineClasses,
  machines,
  PreserveValues,
  parseTime,
} from '@mcm/api';
import {
  ailmentsOf,
  birthStages,
  complaintsOf,
  type DrainExplanation,
  errorKindOf,
  MACHINE_DEFAULTS,
  previewDrain,
  readEvidence,
  readKeptVms,
  settingsOf,
  undrainablePolicyOf,
} from '@mcm/core';
import {
  type Clock,
  type EventObject,
  events,
  isForbidden,
  isNotFound,
  type KubeClient,
  type Node,
  nodes,
  type Random,
  silentLogger,
} from '@mcm/kube';
import { UserError } from '../errors.ts';
import { drainLines } from './drain-lines.ts';
import { evidenceLines, keptVmLines } from './evidence-lines.ts';
import { brief, machineWait, waitLine } from './machine-wait.ts';

/** A machine of a cluster, and what reading it needs. */
export interface MachineTarget {
  readonly client: KubeClient;
  /** Of the cluster of the nodes. */
  readonly target: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Throws `UserError` when there is no such machine. */
export async function getMachine({ client, namespace, name }: MachineTarget): Promise<Machine> {
  try {
    return await client.resource<Machine>(machines, namespace).get(name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new UserError(
      `there is no machine ${name} in namespace ${namespace}; see: kubectl get machines -n ${namespace}`,
    );
  }
}

const orUndefined = async <T>(reading: Promise<T>): Promise<T | undefined> => {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

/** Who may not read ConfigMaps is told the rest. */
const orNone = async <T>(reading: Promise<readonly T[]>): Promise<readonly T[]> => {
  try {
    return await reading;
  } catch (error) {
    if (isForbidden(error)) return [];
    throw error;
  }
};

/** Events that are told with a machine. */
const EVENTS_TOLD = 5;

/** Why a machine is where it is, as lines for a person. Of one that is gone, what was kept of its failure. */
export async function explainMachine(target: MachineTarget): Promise<string[]> {
  const { client, namespace, name } = target;
  const [evidence, vms] = await Promise.all([
    orNone(readEvidence(client, namespace, name)),
    orNone(readKeptVms(client, namespace, name)),
  ]);
  const kept = [...keptVmLines(vms, namespace), ...evidenceLines(evidence, namespace)];
  const machine = await getMachine(target).catch((error: unknown) => {
    if (error instanceof UserError && kept.length > 0) return undefined;
    throw error;
  });
  return machine
    ? [...(await explainLiving(target, machine)), ...(kept.length > 0 ? ['', ...kept] : [])]
    : [`machine ${name} is gone`, '', ...kept];
}

async function explainLiving(target: MachineTarget, machine: Machine): Promise<string[]> {
  const now = target.clock.now();
  const nodeName = machine.metadata.labels?.[Labels.Node];
  const [node, machineClass, recent, namesakes] = await Promise.all([
    nodeName ? orUndefined(target.target.resource<Node>(nodes).get(nodeName)) : undefined,
    classOf(target, machine),
    eventsOf(target, machine),
    namesakesOf(target, nodeName),
  ]);
  const complaints = complaintsOf(machine, undrainablePolicyOf(machine, machineClass), namesakes);
  const wait = machineWait(machine, machineClass);
  const drains = machine.metadata.deletionTimestamp !== undefined && node !== undefined;
  return [
    `machine ${machine.metadata.name}`,
    `  phase  ${wait?.phase ?? machine.status?.currentStatus?.phase ?? ''}${wait ? sinceOf(machine, now) : ''}${preserved(machine)}`,
    `  VM     ${machine.spec.providerID ?? 'none yet'}`,
    `  node   ${nodeLine(machine, node)}`,
    `  class  ${machine.spec.class.name ?? '?'}${machineClass ? '' : ' (there is no such MachineClass: nothing can be made or deleted at the cloud until it is back)'}`,
    ...(wait
      ? ['', waitLine(wait, now)]
      : ['', `It is ${machine.status?.currentStatus?.phase ?? ''} and waits for nothing.`]),
    ...stageLines(machine, node),
    ...kindOf(machine),
    ...cureOf(machine),
    ...unreplaced(machine),
    ...(complaints.length > 0 ? ['', 'Asked for in vain:', ...complaints.map((text) => `  - ${text}`)] : []),
    ...(drains ? ['', ...linesOfDrain(machine, await previewOf(target, machine, machineClass), now)] : []),
    ...(recent.length > 0 ? ['', 'Last events:', ...recent] : []),
  ];
}

/** How far the birth of a machine has come that has not joined. */
function stageLines(machine: Machine, node: Node | undefined): string[] {
  const { metadata, status } = machine;
  const last = status?.lastOperation;
  const born = last?.type !== undefined && (last.type !== 'Create' || last.state === 'Successful');
  if (metadata.deletionTimestamp || born) return [];
  const lines = birthStages(machine, node).map(
    ({ type, status: reached, reason, since }) =>
      `  ${type.padEnd(24)} ${reached.padEnd(7)} ${reason}${since ? `, since ${since}` : ''}`,
  );
  return ['', 'Its birth:', ...lines];
}

/** What kind of failure the cloud told of, and who can mend it. */
function kindOf({ status }: Machine): string[] {
  const { state, errorCode = '' } = status?.lastOperation ?? {};
  const kind = state === 'Failed' ? errorKindOf(errorCode) : undefined;
  if (!kind) return [];
  const by = kind.fault === 'nobody' ? 'it passes by itself' : `it is with ${kind.fault}`;
  return [`Kind of failure: ${kind.category}; ${by}`];
}

/** What would help against a refusal of the cloud. */
function cureOf({ spec, status }: Machine): string[] {
  const { state, errorCode = '', description = '' } = status?.lastOperation ?? {};
  if (state !== 'Failed') return [];
  const said = errorCode || (/code = \[(\w+)\]/.exec(description)?.[1] ?? '');
  const name = spec.class.name ?? '?';
  const cures: Readonly<Record<string, string>> = {
    InvalidArgument: `mend what it names, in the machine, in MachineClass ${name} or in its Secret; it is tried again at once`,
    Unauthenticated: `mend the credentials in the Secret of MachineClass ${name}; it is tried again at once`,
    PermissionDenied: `give the credentials of MachineClass ${name} the right that is missing; it is tried again by itself`,
    ResourceExhausted: 'raise the quota, free capacity or name another zone or type; it is tried again by itself',
  };
  const cure = cures[said];
  return cure ? [`What would help: ${cure}`] : [];
}

/** Nobody does anything about a Failed machine of no set. */
function unreplaced({ metadata, status }: Machine): string[] {
  const owned = metadata.ownerReferences?.some(({ controller }) => controller);
  if (owned || metadata.deletionTimestamp || status?.currentStatus?.phase !== 'Failed') return [];
  return [
    `What would help: no MachineSet owns it, so nobody replaces it: kubectl delete machine ${metadata.name} -n ${metadata.namespace ?? ''}`,
  ];
}

/** What a drain of the machine would do if it began now, or does, as lines for a person. */
export async function explainMachineDrain(target: MachineTarget): Promise<string[]> {
  const { machine, drain } = await previewMachineDrain(target);
  return linesOfDrain(machine, drain, target.clock.now());
}

/** The same for a program; `drain` is undefined for a machine without a node: there is nothing to drain. */
export async function previewMachineDrain(
  target: MachineTarget,
): Promise<{ readonly machine: Machine; readonly drain: DrainExplanation | undefined }> {
  const machine = await getMachine(target);
  return { machine, drain: await previewOf(target, machine, await classOf(target, machine)) };
}

/** A preview as lines for a person. */
export const linesOfDrain = (machine: Machine, drain: DrainExplanation | undefined, now: Date): string[] =>
  drain ? drainLines(drain, now) : [`machine ${machine.metadata.name} has no node: there is nothing to drain`];

/** Machines that name the same Node. */
async function namesakesOf(
  { client, namespace }: MachineTarget,
  nodeName: string | undefined,
): Promise<readonly Machine[]> {
  if (!nodeName) return [];
  const labelSelector = `${Labels.Node}=${nodeName}`;
  return (await client.resource<Machine>(machines, namespace).list({ labelSelector })).items;
}

const classOf = ({ client, namespace }: MachineTarget, machine: Machine): Promise<MachineClass | undefined> =>
  machine.spec.class.name
    ? orUndefined(client.resource<MachineClass>(machineClasses, namespace).get(machine.spec.class.name))
    : Promise.resolve(undefined);

const previewOf = (
  { target, clock, random, signal }: MachineTarget,
  machine: Machine,
  machineClass: MachineClass | undefined,
): Promise<DrainExplanation | undefined> => {
  const runtime = { clock, random, log: silentLogger };
  return previewDrain({ target, machine, ...(machineClass ? { machineClass } : {}), runtime, signal });
};

/** When its deletion was asked for, when it became unhealthy, or, as long as it has never joined, when it was made. */
function sinceOf({ metadata, status }: Machine, now: Date): string {
  const { phase, lastUpdateTime } = status?.currentStatus ?? {};
  const unborn = phase === undefined || phase === 'Pending' || phase === 'CrashLoopBackOff';
  const since = metadata.deletionTimestamp ?? (unborn ? metadata.creationTimestamp : lastUpdateTime);
  const at = parseTime(since);
  if (at === undefined) return '';
  const ms = Math.max(Math.floor((now.getTime() - at.getTime()) / 1_000) * 1_000, 0);
  return `, since ${since} (${formatDurationMs(ms)})`;
}

function preserved({ metadata, status }: Machine): string {
  const until = status?.currentStatus?.preserveExpiryTime;
  if (until) return `, preserved until ${until}`;
  const wish = metadata.annotations?.[Annotations.Preserve];
  const counts = (Object.values(PreserveValues) as readonly string[]).includes(wish ?? '');
  return counts ? `, preservation asked for: ${wish}` : '';
}

function nodeLine(machine: Machine, node: Node | undefined): string {
  const name = machine.metadata.labels?.[Labels.Node];
  if (!name && machine.status?.currentStatus?.phase === 'Available')
    return 'none: its machine controller runs with --target-kubeconfig=none';
  if (!name) return 'none yet: no node has joined as this machine';
  if (!node) return `${name}, which is not there`;
  const { conditions = [] } = node.status ?? {};
  const ailments = ailmentsOf(conditions, settingsOf(machine, MACHINE_DEFAULTS).unhealthyConditionTypes);
  const reported = conditions.some(({ type }) => type === 'Ready');
  const state = ailments || (reported ? 'Ready is True' : 'Ready is not reported');
  return `${name}, ${state}${node.spec.unschedulable ? ', cordoned' : ''}`;
}

async function eventsOf({ client, namespace, name }: MachineTarget, machine: Machine): Promise<string[]> {
  const { items } = await client
    .resource<EventObject>(events, namespace)
    .list({ fieldSelector: `involvedObject.kind=Machine,involvedObject.name=${name}` });
  const time = (event: EventObject): string => event.lastTimestamp ?? event.metadata.creationTimestamp;
  return items
    .filter(({ involvedObject }) => involvedObject.uid === undefined || involvedObject.uid === machine.metadata.uid)
    .sort((a, b) => time(a).localeCompare(time(b)))
    .slice(-EVENTS_TOLD)
    .map((event) => `  ${time(event)}  ${event.type ?? ''}  ${event.reason ?? ''}: ${brief(event.message ?? '')}`);
}
