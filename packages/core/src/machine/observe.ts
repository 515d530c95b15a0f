import { Annotations, Labels, type Machine, type MachineClass } from '@mcm/api';
import { type Node, refusalOf } from '@mcm/kube';
import type { BootstrapTokenIssuer } from '../bootstrap/tokens.ts';
import { asksForToken } from '../bootstrap/user-data.ts';
import type { Caches } from '../cluster/caches.ts';
import { countReplacements, replacementGroup, replacementLimit, waitsForMaking } from '../disruption/replacements.ts';
import { vmStateOf } from '../disruption/vm-state.ts';
import { type DrainObservation, NO_DRAIN_MEMORY } from '../drain/model/observation.ts';
import { type ObserveDrainOptions, observeDrain } from '../drain/observe.ts';
import type { EvictionApi } from '../drain/requests/eviction-api.ts';
import { type VolumePace, volumesMoving } from '../drain/volumes/volume-pace.ts';
import type { DriverInvoker } from '../driver/invoker/api/invoker-api.ts';
import { hooksOf } from '../hooks/definitions.ts';
import { timesOf } from '../interruption/deadlines.ts';
import { type Interruption, interruptionOf } from '../interruption/notice.ts';
import { successorOf } from '../interruption/successor.ts';
import { driftPolicyProblems } from '../node/drift.ts';
import { instanceKey, isInstance, isNodeOf, pointsTo } from '../node/instance.ts';
import { warnedDrift } from '../node/sync.ts';
import { drainRuleProblems, drainRulesOf } from '../settings/drain-rules.ts';
import { drainTimeoutProblems, isRepair } from '../settings/drain-timeouts.ts';
import { type MachineDefaults, settingsOf } from '../settings/settings.ts';
import { FORCED, type PolicyChoice, undrainablePolicyOf } from '../settings/undrainable.ts';
import { validationWarningsOf } from '../settings/validation-warnings.ts';
import { healthDeadline } from '../values/timestamps.ts';
import type { DriverCalls } from './calls/calls.ts';
import type { CapacityGate } from './calls/capacity.ts';
import { observeProtection } from './creation/protection.ts';
import { confirm } from './health/unreachable-peers.ts';
import type { VmSamples } from './health/vm-state.ts';
import { wantsInPlaceDrain } from './in-place/in-place.ts';
import type { MachineMemory } from './model/memory.ts';
import { missingNodeUntil } from './model/missing-node.ts';
import type { CallMemory, Doubt, MachineObservation } from './model/observation.ts';
import { wantsPreservationDrain } from './preservation/preservation.ts';

export interface ObserveOptions {
  readonly caches: Caches;
  readonly invoker: DriverInvoker;
  readonly calls: DriverCalls;
  readonly capacity: CapacityGate;
  readonly defaults: () => MachineDefaults;
  readonly tokens: Pick<BootstrapTokenIssuer, 'livesUntil'> | undefined;
  readonly frozen: () => boolean;
  readonly inherited: (uid: string) => boolean;
  readonly doubt: () => Doubt | undefined;
  readonly reserved: (group: string, uid: string) => number;
  readonly volumeWindow: number;
  /** The limits of moving volumes that all drains share. */
  readonly pace?: VolumePace | undefined;
  readonly evictions: Pick<EvictionApi, 'state'>;
  readonly keepsEvidence: boolean;
  readonly keepsVms: boolean;
  readonly interruptions: boolean;
  readonly readyCondition: boolean;
  readonly blockedBy: () => boolean;
  /** Selects the machines whose VMs are looked up while a circuit breaker is open. */
  readonly samples?: VmSamples | undefined;
}

export function drainsNode(machine: Machine, memory: MachineMemory, caches: Caches): boolean {
  const node = nodeOf(machine, memory, caches);
  return node !== undefined && wantsDrain(machine, node);
}

const wantsDrain = (machine: Machine, node: Node | undefined): boolean =>
  machine.metadata.deletionTimestamp !== undefined ||
  wantsPreservationDrain(machine, node) ||
  wantsInPlaceDrain(machine, node);

export function observe(machine: Machine, memory: MachineMemory, o: ObserveOptions, now: Date): MachineObservation {
  const { caches, invoker, calls } = o;
  const inputs = invoker.inputsOf(machine);
  const offerings = machine.spec.providerID ? undefined : o.capacity.offeringsOf(machine);
  const shortage = machine.spec.providerID || offerings ? undefined : o.capacity.of(machine, inputs);
  const callMemory = calls.of(machine.metadata.uid);
  const node = nodeOf(machine, memory, caches);
  const machineClass = invoker.classOf(machine);
  const settings = settingsOf(machine, o.defaults(), machineClass);
  const interruption = o.interruptions ? interruptionOf(machine) : undefined;
  // The undrainable policy does not apply to an interrupted machine, because the cloud will end its VM.
  const choice = settings.undrainablePolicy && !interruption ? policyOf(machine, machineClass, caches) : FORCED;
  const doubt = o.doubt();
  const deleting = machine.metadata.deletionTimestamp !== undefined;
  const drains = wantsDrain(machine, node);
  if (!drains || !node) memory.drain = NO_DRAIN_MEMORY;
  const observed =
    drains && node && caches.target
      ? observeDrain({
          machine,
          settings,
          node,
          caches: caches.target,
          volumeIdOf: invoker.volumeIdOf,
          memory: memory.drain,
          volumeWindow: o.volumeWindow,
          limits: caches.target.csiNodes.refused ? undefined : caches.attachLimits,
          shared: o.pace && ((drivers) => o.pace?.limitsFor(machine.metadata.uid, drivers)),
          now,
          healthDoubtedUntil: doubt?.until,
          requests: o.evictions.state(now),
          ...rulesOf(machine, machineClass, caches, interruption),
          choice,
          interrupted: interruption && timesOf(interruption, settings.drainTimeoutMs),
        })
      : undefined;
  const drain = observed && withMissingPermissionsIgnored(observed, callMemory);
  noteDrain(machine, drain, memory, o.pace, now);
  return {
    machine,
    settings,
    inputs,
    asksForToken: userDataAsks(machine, invoker),
    tokenLivesUntil: o.tokens?.livesUntil(machine),
    hasTarget: caches.target !== undefined,
    frozen: o.frozen(),
    inherited: o.inherited(machine.metadata.uid),
    doubt,
    ...observeProtection(machine, memory, protectionInputs(machineClass, caches), now),
    ...nodesUnseen(caches),
    calls: callMemory,
    driver: invoker.can,
    ...replacements(machine, settings, o, now),
    ...breakerOf(machine, settings, o, now),
    warnings: warningsOf(o, machine, { node, machineClass, choice }),
    warned: memory.warned || undefined,
    ...driftOf(machine, machineClass, node, memory),
    keepsEvidence: o.keepsEvidence,
    evidence: memory.evidence,
    keepsVms: o.keepsVms,
    keeping: memory.keeping,
    held: memory.held ? true : undefined,
    healthWrites: memory.healthWrites,
    reported: memory.reported,
    machineClass,
    node,
    nodeOfCreated: caches.target?.nodes.store.get(callMemory.created?.nodeName ?? ''),
    missingNode: missingNodeUntil(memory, now),
    ...(node ? {} : conflictingNodeOf(machine, memory, caches)),
    ...(node ? {} : nodeOfOther(machine, caches)),
    nodeWasDeleted: wasDeleted(node, memory),
    drain,
    shortage,
    interruptions: o.interruptions,
    readyCondition: o.readyCondition || undefined,
    blockedBy: o.blockedBy() || undefined,
    successor: interruption && deleting ? successorOf(machine, groupOf(machine, caches)) : undefined,
    offerings,
  };
}

function warningsOf(
  { caches, invoker }: ObserveOptions,
  machine: Machine,
  {
    node,
    machineClass,
    choice,
  }: {
    readonly node: Node | undefined;
    readonly machineClass: MachineClass | undefined;
    readonly choice: PolicyChoice;
  },
): readonly string[] {
  return [
    ...validationWarningsOf(machine, choice, namesakesOf(machine, caches), node, hooksOf(machine, machineClass)),
    ...alternativeWarnings(machine, machineClass, invoker),
    ...classWarnings(machine, machineClass),
  ];
}

const driftOf = (
  machine: Machine,
  machineClass: MachineClass | undefined,
  node: Node | undefined,
  { drift }: MachineMemory,
): Pick<MachineObservation, 'drift' | 'reportedDrift'> => ({
  drift: node && warnedDrift(machine, machineClass, node),
  reportedDrift: drift || undefined,
});

const protectionInputs = (machineClass: MachineClass | undefined, { classes, secrets }: Caches) => ({
  machineClass,
  secretOf: (key: string) => secrets.store.get(key),
  unreadable: (refusalOf(classes) ?? refusalOf(secrets)) !== undefined,
});

const groupOf = (machine: Machine, { machines }: Caches): readonly Machine[] =>
  machines.store.byIndex('group', replacementGroup(machine));

/** Returns true if the Node was deleted. If a kubelet registers the Node again, its earlier deletion no longer counts. */
function wasDeleted(node: Node | undefined, memory: MachineMemory): true | undefined {
  if (node) memory.nodeVanished = false;
  return memory.nodeVanished ? true : undefined;
}

function nodesUnseen({ target }: Caches): Pick<MachineObservation, 'nodesUnseen'> {
  const why = target && refusalOf(target.nodes);
  return why === undefined ? {} : { nodesUnseen: why };
}

/**
 * Returns the undrainable policy of a machine. If mcm cannot read the class, the policy is `Hold`, because the class
 * may forbid a forced drain.
 */
function policyOf(machine: Machine, machineClass: MachineClass | undefined, { classes }: Caches): PolicyChoice {
  const own = machine.metadata.annotations?.[Annotations.UndrainablePolicy];
  const why = machineClass || own !== undefined ? undefined : refusalOf(classes);
  if (why === undefined) return undrainablePolicyOf(machine, machineClass);
  return { policy: 'Hold', problem: `cannot determine the undrainable policy of the class: ${why}` };
}

/** If mcm cannot read the class, the drain waits, because the class may have hooks or drain rules for the pods. */
function rulesOf(
  machine: Machine,
  machineClass: MachineClass | undefined,
  { classes }: Caches,
  interruption: Interruption | undefined,
): Pick<ObserveDrainOptions, 'rules' | 'unseenRules'> {
  const { rules } = drainRulesOf(machine, machineClass);
  return machineClass || interruption ? { rules } : { rules, unseenRules: refusalOf(classes) };
}

/** After the deletion of the VM has started, missing permissions no longer block the drain. */
function withMissingPermissionsIgnored(drain: DrainObservation, { running, last }: CallMemory): DrainObservation {
  if (running?.kind !== 'delete' && last?.kind !== 'delete') return drain;
  const { unseen: _, ...rest } = drain;
  return rest;
}

function noteDrain(
  { metadata: { uid } }: Machine,
  drain: DrainObservation | undefined,
  memory: MachineMemory,
  pace: VolumePace | undefined,
  now: Date,
): void {
  if (drain) pace?.learn(uid, memory.drain, drain, now);
  pace?.moves(uid, drain ? volumesMoving(drain, now) : new Map());
  if (drain) memory.drain = drain.memory;
}

/** mcm reports the problems of a class's alternatives on the MachineClass. */
function alternativeWarnings(
  { metadata, spec }: Machine,
  machineClass: MachineClass | undefined,
  invoker: DriverInvoker,
): readonly string[] {
  const own = metadata.annotations?.[Annotations.CapacityAlternatives];
  if (own === undefined || spec.providerID || !machineClass) return [];
  return invoker.alternativeProblems(machineClass, own).map((problem) => `metadata.annotations: ${problem}`);
}

/** An annotation of the machine overrides the annotation of the class, so mcm checks only the effective annotation. */
function classWarnings({ metadata }: Machine, machineClass: MachineClass | undefined): readonly string[] {
  const given = Object.entries(machineClass?.metadata.annotations ?? {});
  const used = given.filter(([key]) => metadata.annotations?.[key] === undefined);
  const annotations = Object.fromEntries(used);
  const problems = [
    ...drainTimeoutProblems(annotations),
    ...drainRuleProblems(annotations),
    ...driftPolicyProblems(annotations),
  ];
  return problems.map((problem) => `MachineClass ${machineClass?.metadata.name}: ${problem}`);
}

const namesakesOf = (machine: Machine, caches: Caches): readonly Machine[] => {
  const name = machine.metadata.labels?.[Labels.Node];
  return name ? caches.machines.store.byIndex('node', name) : [];
};

/** Returns true if the user data of the machine contains the placeholder of the bootstrap token. */
const userDataAsks = (machine: Machine, invoker: DriverInvoker): boolean => {
  if (machine.status?.currentStatus?.phase === 'Running') return false;
  return asksForToken(invoker.userDataOf(machine) ?? new Uint8Array());
};

function breakerOf(
  machine: Machine,
  settings: MachineDefaults,
  { caches, defaults, calls, invoker, samples }: ObserveOptions,
  now: Date,
): Pick<MachineObservation, 'breaker' | 'deletedForHealth' | 'unconfirmed' | 'cloudSays' | 'looksUpVm'> {
  const phase = machine.status?.currentStatus?.phase;
  const deletedForHealth = isRepair(machine);
  if (!deletedForHealth && phase !== 'Unknown') return {};
  const limits = defaults().breaker;
  const breaker = caches.census.breakerOf(machine, limits, now);
  const looksUp =
    phase === 'Unknown' &&
    machine.metadata.deletionTimestamp === undefined &&
    breaker !== undefined &&
    invoker.can.status &&
    vmStateOf(machine) === undefined &&
    samples?.takes(machine.metadata.uid, breaker.scope, now) === true;
  const found = { deletedForHealth: deletedForHealth || undefined, breaker, looksUpVm: looksUp || undefined };
  const small = breaker ? undefined : caches.census.smallClusterOf(machine, limits, now);
  if (!small || now <= healthDeadline(machine, settings)) return found;
  const input = { machine, settings, calls: calls.of(machine.metadata.uid), canLookUp: invoker.can.status, ...small };
  const confirmation = confirm(input, now);
  if ('ask' in confirmation || 'waitUntil' in confirmation) return { ...found, unconfirmed: confirmation };
  const { answer } = confirmation;
  const said = { ...found, cloudSays: answer };
  return 'held' in confirmation ? { ...said, breaker: confirmation.held } : said;
}

function replacements(
  machine: Machine,
  { healthTimeoutMs, maxUnhealthyReplacements }: MachineDefaults,
  { caches, reserved }: ObserveOptions,
  now: Date,
): Pick<MachineObservation, 'replacementsInProgress' | 'replacementsAllowed'> {
  const { phase, lastUpdateTime } = machine.status?.currentStatus ?? {};
  if (phase !== 'Unknown' && phase !== 'InPlaceUpdateFailed') return { replacementsInProgress: 0 };
  const group = replacementGroup(machine);
  const all = caches.machines.store.byIndex('group', group);
  const others = all.filter(({ metadata }) => metadata.uid !== machine.metadata.uid);
  const making = now <= waitsForMaking(lastUpdateTime, healthTimeoutMs);
  return {
    replacementsInProgress: countReplacements(others, { making }) + reserved(group, machine.metadata.uid),
    replacementsAllowed: replacementLimit(maxUnhealthyReplacements, all.length),
  };
}

/**
 * If the machine has no Node label, mcm finds the Node by its provider ID or its own label. The Node of another machine
 * does not match.
 */
function nodeOf(machine: Machine, memory: MachineMemory, caches: Caches): Node | undefined {
  if (!caches.target) return undefined;
  const { store } = caches.target.nodes;
  const name = machine.metadata.labels?.[Labels.Node];
  const id = machine.spec.providerID;
  const ofVm = id ? store.byIndex('instance', instanceKey(id)) : [];
  const candidates = name ? [store.get(name)] : [...store.byIndex('machine', machine.metadata.name), ...ofVm];
  return candidates.find(
    (node) => node && node.metadata.uid !== memory.releasedNode && isMine(machine, node, Boolean(name), caches),
  );
}

function conflictingNodeOf(
  machine: Machine,
  memory: MachineMemory,
  caches: Caches,
): Pick<MachineObservation, 'conflictingNode' | 'conflictCameBack'> {
  const name = machine.metadata.labels?.[Labels.Node];
  const conflictingNode = name ? caches.target?.nodes.store.get(name) : undefined;
  if (
    !name ||
    !conflictingNode ||
    conflictingNode.metadata.uid === memory.releasedNode ||
    isNodeOf(machine, conflictingNode)
  )
    return {};
  const owned = caches.machines.store
    .byIndex('node', name)
    .some((other) => isInstance(other.spec.providerID, conflictingNode.spec.providerID));
  return owned ? {} : { conflictingNode, conflictCameBack: memory.releasedNode === undefined ? undefined : true };
}

function nodeOfOther(machine: Machine, caches: Caches): Pick<MachineObservation, 'nodeOfOther'> {
  const name = machine.metadata.labels?.[Labels.Node];
  const store = caches.target?.nodes.store;
  const node = name ? store?.get(name) : undefined;
  if (!name || !node || !store) return {};
  const claims = caches.machines.store.byIndex('node', name);
  const owner = claims.length > 0 ? bestClaim(claims, node) : undefined;
  if (!owner || owner.metadata.uid === machine.metadata.uid) return {};
  const own = store.byIndex('machine', machine.metadata.name).find((other) => isNodeOf(machine, other));
  const named = { node: name, ownedBy: owner.metadata.name };
  return { nodeOfOther: { ...named, own: own && own !== node ? own.metadata.name : undefined } };
}

function isMine(machine: Machine, node: Node, named: boolean, caches: Caches): boolean {
  if (!isNodeOf(machine, node)) return false;
  if (!named) return pointsTo(node, machine) || isOnly(machine, node, caches);
  const claims = caches.machines.store.byIndex('node', node.metadata.name);
  if (claims.length <= 1) return true;
  return bestClaim(claims, node).metadata.uid === machine.metadata.uid;
}

function isOnly({ metadata: { uid }, spec }: Machine, node: Node, { machines: { store } }: Caches): boolean {
  const id = node.spec.providerID;
  if (!id || !isInstance(spec.providerID, id)) return false;
  const recorders = store.byIndex('instance', instanceKey(id)).filter((one) => isInstance(one.spec.providerID, id));
  return [...recorders, ...store.byIndex('node', node.metadata.name)].every((one) => one.metadata.uid === uid);
}

/**
 * Selects the machine of a Node: first the machine with the Node's VM, then the machine in the Node's label, then the
 * oldest machine.
 */
function bestClaim(claims: readonly Machine[], node: Node): Machine {
  const ranked = claims.toSorted((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
  const byId = ranked.find((machine) => isInstance(machine.spec.providerID, node.spec.providerID));
  const best = byId ?? ranked.find((machine) => pointsTo(node, machine)) ?? ranked[0];
  if (!best) throw new Error('bestClaim needs at least one claim');
  return best;
}
