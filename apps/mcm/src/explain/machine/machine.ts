import {
  Annotations,
  Labels,
  type Machine,
  type MachineClass,
  machineClasses,
  machines,
  PreserveValues,
} from '@mcm/api';
import {
  alternativeText,
  type CreationStep,
  creationSteps,
  type DrainExplanation,
  describeUnhealthy,
  errorKindOf,
  hooksOf,
  interruptionOf,
  interruptionText,
  type KeptEvidence,
  type KeptVm,
  type MachineDefaults,
  offeringOf,
  pendingHooksOf,
  previewDrain,
  readEvidence,
  readKeptVms,
  reportsRefusedCredentials,
  settingsOf,
  undrainablePolicyOf,
  validationWarningsOf,
  warnedDrift,
  zoneOfferingOf,
} from '@mcm/core';
import {
  type Clock,
  type EventObject,
  errorText,
  events,
  isNotFound,
  type KubeClient,
  KubeError,
  type Node,
  nodes,
  type Random,
  silentLogger,
} from '@mcm/kube';
import { ifAllowed } from '../../cluster/allowed.ts';
import { getNamed } from '../../cluster/missing.ts';
import { quarantinedIn, quarantineLines } from '../../cluster/quarantine.ts';
import { UserError } from '../../command/errors.ts';
import { type ControllerHealth, doesAct, notActing } from '../../controllers/health.ts';
import { readControllers } from '../../controllers/read.ts';
import { brief } from '../reasons/brief.ts';
import { deletionCauseOf } from '../reasons/deletion-cause.ts';
import { readReplacementContext, replacementHolds } from '../reasons/replacement-holds.ts';
import { managerHold, waitUnder } from '../reasons/stopped-controllers.ts';
import { type MachineSettings, readMachineSettings } from '../settings/machine-settings.ts';
import { readManagerSettings } from '../settings/manager-settings.ts';
import type { LivingMachine, MachineEvent } from './living-machine.ts';
import { machineHints } from './machine-hints.ts';
import { type MachineWait, machineWait, refusalOf, sinceOf, withTaint } from './machine-wait.ts';
import { configOf } from './node-config.ts';

export interface MachineTarget {
  readonly client: KubeClient;
  readonly target: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly controllers?: readonly ControllerHealth[];
  /** Returns the programs of the local instance that do not respond. */
  readonly programs?: (() => readonly ControllerHealth[]) | undefined;
}

const getMachine = ({ client, namespace, name }: MachineTarget): Promise<Machine> =>
  getNamed<Machine>(client, machines, namespace, name);

const orUndefined = async <T>(reading: Promise<T>): Promise<T | undefined> => {
  try {
    return await reading;
  } catch (error) {
    // The client refuses an invalid name, such as a name with a slash. No machine can have this name.
    if (isNotFound(error) || (error instanceof KubeError && error.reason === 'BadRequest')) return undefined;
    throw error;
  }
};

const EVENTS_TOLD = 5;

/**
 * The explanation of a machine. If the machine no longer exists, the explanation contains only the stored data about
 * its failure.
 */
export type MachineExplanation = KeptOfMachine &
  ((LivingMachine & { readonly there: true }) | { readonly there: false });

interface KeptOfMachine {
  readonly machine: string;
  readonly namespace: string;
  readonly evidence: readonly KeptEvidence[];
  readonly keptVms: readonly KeptVm[];
  readonly unread: readonly string[];
}

export async function explainMachine(target: MachineTarget): Promise<MachineExplanation> {
  const { client, namespace, name } = target;
  const unread = new Set<string>();
  const [evidence, keptVms] = await Promise.all([
    ifAllowed(readEvidence(client, namespace, name), unread).then((found) => found ?? []),
    ifAllowed(readKeptVms(client, namespace, name), unread).then((found) => found ?? []),
  ]);
  const machine = await getMachine(target).catch(async (error: unknown) => {
    if (error instanceof UserError && evidence.length + keptVms.length > 0) return undefined;
    throw error instanceof UserError ? await withQuarantine(error, target, unread) : error;
  });
  const living = machine && (await explainLiving(target, machine, unread));
  const reported = { machine: name, namespace, evidence, keptVms, unread: [...unread] };
  return living ? { ...reported, there: true, ...living } : { ...reported, there: false };
}

/**
 * Adds the VMs in quarantine to the error about a missing machine. After a restore of the API server, a machine may be
 * missing while its VM is in quarantine.
 */
async function withQuarantine(
  error: UserError,
  { client, namespace }: MachineTarget,
  unread: Set<string>,
): Promise<UserError> {
  const classes = await ifAllowed(client.resource<MachineClass>(machineClasses, namespace).list(), unread);
  const lines = quarantineLines(quarantinedIn(classes?.items ?? []));
  return lines.length === 0 ? error : new UserError([`${error.message}; VMs in quarantine:`, ...lines].join('\n  '));
}

async function explainLiving(target: MachineTarget, machine: Machine, unread: Set<string>): Promise<LivingMachine> {
  const nodeName = machine.metadata.labels?.[Labels.Node];
  const [node, ownClass, recent, namesakes, settings, controllers] = await Promise.all([
    nodeName ? ifAllowed(orUndefined(target.target.resource<Node>(nodes).get(nodeName)), unread) : undefined,
    ifAllowed(classOf(target, machine), unread),
    ifAllowed(eventsOf(target, machine), unread),
    ifAllowed(namesakesOf(target, nodeName), unread),
    readMachineSettings(target.client, target.namespace),
    target.controllers ?? readControllers({ ...target, machines: [machine] }),
  ]);
  const machineClass = ownClass ?? undefined;
  const holds = [...managerHold(controllers), ...(await holdsOf(target, machine, node ?? undefined, unread))];
  const birth = node === null ? undefined : creationStepsOf(machine, node);
  const step = birth?.find(({ status }) => status !== 'True');
  const waiting = machineWait(machine, machineClass, settings.defaults, holds);
  const acting = waiting && withTaint(waiting, step);
  const wait = acting && waitUnder(acting, controllers);
  const deletionCause = await deletionCauseOf(target, machine, unread);
  const drains = machine.metadata.deletionTimestamp !== undefined && node;
  const drain = drains ? await previewOf(target, machine, machineClass, settings, unread) : undefined;
  const since = wait && sinceOf(machine);
  const preserved = preservation(machine);
  const cause = causeOf(machine);
  const interruption = interruptionOf(machine);
  return {
    phase: wait?.phase ?? machine.status?.currentStatus?.phase ?? '',
    since: since || undefined,
    preserved: preserved || undefined,
    interruption: interruption && interruptionText(interruption),
    providerID: machine.spec.providerID ?? null,
    node: { name: nodeName ?? null, state: nodeState(machine, node, settings.defaults) },
    alternative: alternativeOf(machine),
    zone: zoneOfferingOf(machine)?.zone,
    zoneReason: machine.metadata.annotations?.[Annotations.ZoneReason],
    class: { name: machine.spec.class.name ?? '?', missing: ownClass === undefined },
    deletionCause: deletionCause || undefined,
    controllers: notActing(controllers),
    waitsFor: wait ?? null,
    blockedBy: machine.status?.blockedBy,
    cause,
    birth,
    hooks: pendingHooksOf(machine, machineClass, target.clock.now()),
    hints: machineHints(machine, {
      cause,
      drain: drain ?? undefined,
      step,
      settings: settings.defaults,
      isActing: doesAct(controllers, 'machine-controller'),
    }),
    askedInVain: validationWarningsOf(
      machine,
      undrainablePolicyOf(machine, machineClass),
      namesakes ?? [],
      node ?? undefined,
      hooksOf(machine, machineClass),
    ),
    drift: driftLines(machine, machineClass, node ?? undefined),
    quarantinedVms: quarantinedIn(machineClass ? [machineClass] : []),
    drain,
    events: recent ?? [],
    remarks: wait?.deadline && settings.remark !== undefined ? [settings.remark] : [],
  };
}

function driftLines(machine: Machine, machineClass: MachineClass | undefined, node: Node | undefined): string[] {
  const drift = node ? warnedDrift(machine, machineClass, node) : [];
  if (drift.length === 0) return [];
  return [`${drift.join(', ')}: the drift policy is Warn, so mcm keeps the change`];
}

async function holdsOf(
  target: MachineTarget,
  machine: Machine,
  node: Node | undefined,
  unread: Set<string>,
): Promise<readonly string[]> {
  const phase = machine.status?.currentStatus?.phase;
  if (machine.metadata.deletionTimestamp || phase === 'Running' || phase === 'Available') return [];
  const { safeguards } = await readManagerSettings(target.client, target.namespace);
  const at = { now: target.clock.now(), unread };
  return replacementHolds(machine, await readReplacementContext(target, machine, node, safeguards, at));
}

function alternativeOf(machine: Machine): string | undefined {
  const alternative = offeringOf(machine);
  const zone = zoneOfferingOf(machine);
  if (alternative === undefined || (zone && alternativeText(zone) === alternativeText(alternative))) return undefined;
  return alternativeText(alternative);
}

function creationStepsOf(machine: Machine, node: Node | undefined): readonly CreationStep[] | undefined {
  const { metadata, status } = machine;
  const last = status?.lastOperation;
  const born = last?.type !== undefined && (last.type !== 'Create' || last.state === 'Successful');
  return metadata.deletionTimestamp || born ? undefined : creationSteps(machine, node);
}

function causeOf(machine: Machine): LivingMachine['cause'] {
  const code = refusalOf(machine);
  if (!code) return undefined;
  // The drivers of the clouds report refused credentials with the code of the original, which is `Internal`.
  const isRefused = reportsRefusedCredentials(machine.status?.lastOperation?.description ?? '');
  return { code, ...errorKindOf(isRefused ? 'PermissionDenied' : code) };
}

export interface DrainPreview {
  readonly machine: string;
  /** If the machine has no Node, `node` is null. */
  readonly node: string | null;
  /** If the machine is in deletion, `drain` is the drain that runs, and not a preview. */
  readonly inDeletion: boolean;
  /** The step of the deletion. If the machine is not in deletion, `waitsFor` is null. */
  readonly waitsFor: MachineWait | null;
  /** If the Node does not exist, or the user may not read the Node or its pods, `drain` is null. */
  readonly drain: DrainExplanation | null;
  readonly remarks: readonly string[];
  readonly controllers: readonly ControllerHealth[];
  readonly unread: readonly string[];
}

export async function previewMachineDrain(target: MachineTarget): Promise<DrainPreview> {
  const machine = await getMachine(target);
  const unread = new Set<string>();
  const [machineClass, settings, controllers] = await Promise.all([
    ifAllowed(classOf(target, machine), unread),
    readMachineSettings(target.client, target.namespace),
    target.controllers ?? readControllers({ ...target, machines: [machine] }),
  ]);
  const ofClass = machineClass ?? undefined;
  const drain = (await previewOf(target, machine, ofClass, settings, unread)) ?? null;
  const inDeletion = machine.metadata.deletionTimestamp !== undefined;
  const wait = inDeletion ? machineWait(machine, ofClass, settings.defaults) : undefined;
  return {
    machine: machine.metadata.name,
    node: machine.metadata.labels?.[Labels.Node] ?? null,
    inDeletion,
    waitsFor: wait ? waitUnder(wait, controllers) : null,
    drain,
    remarks: drain && settings.remark !== undefined ? [settings.remark] : [],
    controllers: notActing(controllers),
    unread: [...unread],
  };
}

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
  { defaults }: MachineSettings,
  unread: Set<string>,
): Promise<DrainExplanation | undefined> => {
  const runtime = { clock, random, log: silentLogger };
  const onRefused = (refusal: KubeError): void => void unread.add(errorText(refusal));
  return previewDrain({
    target,
    machine,
    runtime,
    signal,
    defaults,
    onRefused,
    machineClass,
  });
};

function preservation({ metadata, status }: Machine): string | undefined {
  const until = status?.currentStatus?.preserveExpiryTime;
  if (until) return `preserved until ${until}`;
  const wish = metadata.annotations?.[Annotations.Preserve];
  const counts = (Object.values(PreserveValues) as readonly string[]).includes(wish ?? '');
  return counts ? `preservation requested: ${wish}` : undefined;
}

function nodeState(machine: Machine, node: Node | undefined | null, defaults: MachineDefaults): string {
  const name = machine.metadata.labels?.[Labels.Node];
  if (!name && machine.status?.currentStatus?.phase === 'Available')
    return 'no node, because the machine controller runs without a target cluster (--target-kubeconfig=none)';
  if (!name) return 'no node, because the node of this machine has not joined yet';
  if (node === null) return 'the state of the node is unknown: no permission to read the node';
  if (!node) return 'the Node does not exist in the cluster';
  const { conditions = [] } = node.status ?? {};
  const unhealthyText = describeUnhealthy(conditions, settingsOf(machine, defaults).unhealthyConditionTypes);
  const reported = conditions.some(({ type }) => type === 'Ready');
  const state = unhealthyText || (reported ? 'Ready is True' : 'Ready is not reported');
  const config = configOf(node);
  return `${state}${node.spec.unschedulable ? ', cordoned' : ''}${config ? `; ${config}` : ''}`;
}

async function eventsOf({ client, namespace, name }: MachineTarget, machine: Machine): Promise<MachineEvent[]> {
  const { items } = await client
    .resource<EventObject>(events, namespace)
    .list({ fieldSelector: `involvedObject.kind=Machine,involvedObject.name=${name}` });
  const time = (event: EventObject): string => event.lastTimestamp ?? event.metadata.creationTimestamp;
  return items
    .filter(({ involvedObject }) => involvedObject.uid === undefined || involvedObject.uid === machine.metadata.uid)
    .sort((a, b) => time(a).localeCompare(time(b)))
    .slice(-EVENTS_TOLD)
    .map((event) => ({
      at: time(event),
      type: event.type ?? '',
      reason: event.reason ?? '',
      message: brief(event.message ?? ''),
    }));
}
