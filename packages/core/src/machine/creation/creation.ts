import { Annotations, DescriptionTexts, type MachineStatus, type NodeAddress, printMachineError } from '@mcm/api';
import { controllerOf, type Node } from '@mcm/kube';
import type { Address, Instance } from '../../driver/contract/driver.ts';
import type { MachineError } from '../../driver/contract/errors.ts';
import { pointsTo, sameInstance } from '../../node/instance.ts';
import { compareText } from '../../values/integers.ts';
import { after, millis } from '../../values/timestamps.ts';
import { planHooks, withEvent } from '../hooks/hooks.ts';
import { capacityBlock, keptBlocks } from '../model/blocked-by.ts';
import type { CallOutcome, FailedCall, MachineObservation, RunningCall, SettledCall } from '../model/observation.ts';
import { type Action, act, nextAt, type Plan, wait } from '../model/plan.ts';
import { type Backoff, CREATE_RETRY, INITIALIZE_RETRY, retryAfter } from '../model/retry.ts';
import { isSimilarStatus, type Operation, withOperation, withPhase } from '../model/status.ts';
import { isCreation, planNote, withoutNote } from './never-created.ts';
import { planOffering, refusedCapacity } from './offering.ts';
import { planProtection, planUncreated } from './protection.ts';

export function isBeingCreated({ machine }: Pick<MachineObservation, 'machine'>): boolean {
  const phase = machine.status?.currentStatus?.phase;
  return !machine.spec.providerID || phase === undefined || phase === 'CrashLoopBackOff';
}

/**
 * Plans the creation of a VM. Before the first `create`, mcm looks up a VM with the name of the machine, because
 * another controller may have created the VM. `create` returns an existing VM even if the lookup does not find it, so a
 * crash loses no VM.
 */
export function planCreation(o: MachineObservation, now: Date): Plan {
  const { running } = o.calls;
  if (running) return running.overdue ? planOverdue(o, running.overdue) : planUnderway(o, running, now);
  if (o.machine.spec.providerID) return planCompletion(o, now);
  const uncreated = planUncreated(o);
  if (uncreated) return uncreated;
  const plan = planVm(o, now);
  return isCreation(plan) ? (planProtection(o, now) ?? withoutNote(o, plan)) : (planNote(o) ?? plan);
}

/**
 * During the first `create` call, the phase stays empty. The orphan collection of the original recognizes a machine in
 * creation by its empty phase.
 */
function planUnderway({ machine }: MachineObservation, { kind, waitsFor }: RunningCall, now: Date): Plan {
  const because = `the driver's ${kind} call is in progress`;
  const { currentStatus, lastOperation } = machine.status ?? {};
  // The start of a new `create` call causes no status write.
  const underway = { ...wait(because), blockedBy: keptBlocks(machine, 'Capacity') };
  if (kind !== 'create' || waitsFor === undefined || currentStatus?.phase) return underway;
  const description = `${CREATING.description}: ${waitsFor}`;
  if (lastOperation?.description === description) return underway;
  const status = withOperation(machine.status, { ...CREATING, description }, now);
  return act(because, { do: 'writeStatus', status });
}

/** If a driver call ignores its abort signal, the creation waits until the driver call ends. */
function planOverdue(o: MachineObservation, call: FailedCall): Plan {
  const describe = call.kind === 'initialize' ? initializationFailed : creationFailed;
  const { error } = call.outcome;
  const said = sayFailed(o, error, call.at, describe(error));
  const because = `the driver's ${call.kind} call does not end`;
  return said.length > 0 ? act(because, ...said) : wait(because);
}

function planVm(o: MachineObservation, now: Date): Plan {
  const failed = o.machine.status?.currentStatus?.phase === 'Failed';
  // The MachineSet replaces a Failed machine, and would immediately delete a new VM of the Failed machine. The original
  // creates a VM for a Failed machine.
  if (failed && controllerOf(o.machine)) return wait('mcm creates no VM for a Failed machine');
  const { last, created } = o.calls;
  if (last?.kind === 'delete' && created) return planDiscard(o, last, created, now);
  if (last?.kind !== 'create') {
    const none = act('the machine has no VM yet', { do: 'call', call: 'create' });
    return planAdoption(o, failed, now) ?? planCreateHooks(o, now) ?? planCapacity(o, now) ?? none;
  }
  if (!last.outcome.ok) {
    const { error } = last.outcome;
    if (o.offerings && refusedCapacity(o)) return planElsewhere(o, error, now);
    return planCapacity(o, now) ?? planRetry(o, last, error, createBackoff(o, error), creationFailed, now);
  }
  if (!created) return act('looking up the VM with the provider ID of the machine', { do: 'call', call: 'create' });
  if (isStale(o.nodeOfCreated, created, o)) {
    return act(`Node ${created.nodeName} belongs to an earlier VM`, { do: 'call', call: 'delete' });
  }
  if (failed) return act('the Failed machine has a VM', creationRestarted(o, now));
  return act('the VM exists', { do: 'record', instance: created });
}

/** A machine whose hooks exceed the creation timeout becomes Failed, because a new VM would have no time to join. */
function planCreateHooks(o: MachineObservation, now: Date): Plan | undefined {
  const timeout = after(o.machine.metadata.creationTimestamp, o.settings.creationTimeoutMs);
  const plan = planHooks(o, 'before-create', now, (because, event) => {
    if (now > timeout) {
      if (o.machine.status?.currentStatus?.phase === 'Failed') return [];
      const failed = { reason: 'CreationFailed', type: 'Warning', message: `Creation timeout: ${because}` } as const;
      const operation: Operation = { description: failed.message, state: 'Failed', type: 'Create' };
      return [
        { do: 'writeStatus', status: withPhase(o.machine.status, { phase: 'Failed' }, operation, now), event: failed },
      ];
    }
    const description = `${CREATING.description}: ${because}`;
    if (o.machine.status?.lastOperation?.description === description) return [];
    const status = withOperation(o.machine.status, { ...CREATING, description }, now);
    return withEvent([{ do: 'writeStatus', status }], event);
  });
  if (plan?.next.kind !== 'wait' && plan?.next.kind !== 'waitUntil') return plan;
  const known = plan.next.kind === 'waitUntil' ? plan.next.instant : undefined;
  return { ...plan, next: nextAt(known, now <= timeout ? timeout : undefined) };
}

/**
 * Plans the adoption of an existing VM. Returns undefined if the driver cannot look up VMs, or found no VM with the
 * name of the machine.
 */
function planAdoption(o: MachineObservation, failed: boolean, now: Date): Plan | undefined {
  const { last } = o.calls;
  if (!o.driver.status) return undefined;
  if (last?.kind !== 'status') return act('checking whether a VM already exists', { do: 'call', call: 'status' });
  const { outcome } = last;
  if (outcome.ok) {
    if (!outcome.instance) return undefined;
    if (failed) return act('the Failed machine has a VM', creationRestarted(o, now));
    return act('a VM already exists', { do: 'record', instance: outcome.instance });
  }
  const { error } = outcome;
  if (['NotFound', 'Unimplemented', 'Uninitialized'].includes(error.code)) return undefined;
  return planRetry(o, last, error, createBackoff(o, error), creationFailed, now);
}

function creationRestarted({ machine }: MachineObservation, now: Date): Action {
  const status = withPhase(machine.status, { phase: 'CrashLoopBackOff' }, CREATING, now);
  return { do: 'writeStatus', status };
}

/**
 * Returns true if the Node belongs to an earlier VM. A Node that refers to the machine or is newer than the machine may
 * have joined before `create` returned.
 */
function isStale(node: Node | undefined, created: Instance, { machine }: MachineObservation): boolean {
  if (!node || created.nodeName === machine.metadata.name || pointsTo(node, machine)) return false;
  if (node.spec.providerID) return !sameInstance(node.spec.providerID, created.providerId);
  return millis(node.metadata.creationTimestamp) < millis(machine.metadata.creationTimestamp);
}

const STALE_NODE = 'VM using old node obj';

function planDiscard(o: MachineObservation, last: SettledCall, { nodeName }: Instance, now: Date): Plan {
  const { outcome } = last;
  if (!outcome.ok && outcome.error.code !== 'NotFound') {
    const retryAt = after(
      last.at.toISOString(),
      retryAfter(INITIALIZE_RETRY[outcome.error.code], outcome.error, last.failures),
    );
    return now < retryAt ? wait('deleting the VM failed', retryAt) : act('try again', { do: 'call', call: 'delete' });
  }
  const operation: Operation = { description: STALE_NODE, state: 'Failed', type: 'Create' };
  const { currentStatus, lastOperation } = o.machine.status ?? {};
  if (currentStatus?.phase === 'Failed' && lastOperation?.description === STALE_NODE) return wait(STALE_NODE);
  const event = {
    type: 'Warning' as const,
    reason: 'StaleNode' as const,
    message: `mcm deleted the new VM, because Node ${nodeName} with the same name belongs to an earlier VM`,
  };
  const status = withPhase(o.machine.status, { phase: 'Failed' }, operation, now);
  return act('another Node has the Node name of the VM', { do: 'writeStatus', status, event });
}

/** Some drivers must initialize the VM before its Node can join. */
function planCompletion(o: MachineObservation, now: Date): Plan {
  const { last } = o.calls;
  const recorded = missingMetadata(o);
  if (recorded) return act('the machine has no label with the name of its Node, or no priority', recorded);
  if (!o.driver.initialize) return act('the VM exists and needs no initialization', pending(o, now));
  const initialize = act('initializing the VM', { do: 'call', call: 'initialize' });
  switch (last?.kind) {
    case 'create':
      return initialize;
    case 'initialize':
      if (last.outcome.ok || last.outcome.error.code === 'Unimplemented') return act('initialised', pending(o, now));
      return planRetry(
        o,
        last,
        last.outcome.error,
        INITIALIZE_RETRY[last.outcome.error.code],
        initializationFailed,
        now,
      );
    case 'status':
      return planLookup(o, last, initialize, now);
    default:
      return o.driver.status
        ? act('checking whether the VM is initialized', { do: 'call', call: 'status' })
        : initialize;
  }
}

/**
 * Repeats `initialize` for a Running machine until the driver call succeeds. A machine whose Node joins becomes Running
 * even if `initialize` failed, as in the original.
 */
export function planLateInitialization(o: MachineObservation, now: Date): Plan | undefined {
  const { last, running } = o.calls;
  if (running || last?.kind !== 'initialize' || last.outcome.ok) return undefined;
  const { error } = last.outcome;
  if (error.code === 'Unimplemented' || o.machine.status?.currentStatus?.phase !== 'Running') return undefined;
  const retryAt = new Date(last.at.getTime() + retryAfter(INITIALIZE_RETRY[error.code], error, last.failures));
  if (now < retryAt) return wait('initializing the VM failed', retryAt);
  return act('initializing the VM again', { do: 'call', call: 'initialize' });
}

/** A new process does not know whether the VM is initialized, so it calls the driver method `status`. */
function planLookup(o: MachineObservation, last: SettledCall, initialize: Plan, now: Date): Plan {
  if (last.outcome.ok) return last.outcome.incomplete ? initialize : act('initialised', pending(o, now));
  const { error } = last.outcome;
  if (error.code === 'Uninitialized') return initialize;
  if (error.code === 'NotFound' || error.code === 'Unimplemented')
    return act('the VM needs no initialization by the driver', pending(o, now));
  return planRetry(o, last, error, createBackoff(o, error), creationFailed, now);
}

function createBackoff(o: MachineObservation, error: MachineError): Backoff {
  if (error.code !== 'ResourceExhausted') return CREATE_RETRY[error.code];
  const ms = o.settings.resourceExhaustedRetryMs;
  return ms > 0 ? { firstMs: ms, maxMs: ms } : CREATE_RETRY.ResourceExhausted;
}

function planCapacity(o: MachineObservation, now: Date): Plan | undefined {
  if (!o.offerings) return planShortage(o, now);
  const plan = planOffering(o, o.offerings, now);
  if (!plan || !('waitsFor' in plan)) return plan;
  const { shortage, until } = plan.waitsFor;
  if (shortage) return planShortage({ ...o, shortage }, now);
  const because = 'another machine tests whether the cloud has capacity for the offering';
  return { ...wait(because, until), awaitsCapacity: true, blockedBy: [capacityBlock(o, because)] };
}

function planElsewhere(o: MachineObservation, error: MachineError, now: Date): Plan {
  const because = creationFailed(error);
  // If `planShortage` and `planRetry` wrote different times, they would overwrite each other's status.
  const said = sayFailed(o, error, now, because);
  if (said.length > 0) return act(because, ...said);
  return (
    planCapacity(o, now) ?? act('the cloud has capacity for an offering of the class', { do: 'call', call: 'create' })
  );
}

/** The message of the cloud may contain request IDs, so the reason of the block omits the message. */
const NO_CAPACITY = 'the cloud has no capacity for the machine';

/** A description in a status starts with this text if the machine waits for the `create` call of another machine. */
const REFUSED_ELSEWHERE =
  'mcm has not called the cloud for the machine, because the cloud refused another machine with the same offering: ';

const isBorrowed = (description: string | undefined): boolean => description?.startsWith(REFUSED_ELSEWHERE) === true;

/**
 * Returns the description for a machine that waits for another machine. A reported lack of capacity stays in the
 * status, because the cloud may have refused a `create` call for this machine.
 */
function refusedElsewhere({ machine }: MachineObservation, error: MachineError): string {
  const { errorCode, state, type, description } = machine.status?.lastOperation ?? {};
  const isReported = errorCode === error.code && state === 'Failed' && type === 'Create';
  return isReported && description && !isBorrowed(description)
    ? description
    : `${REFUSED_ELSEWHERE}${creationFailed(error)}`;
}

/**
 * Plans a machine that waits for capacity. Each waiting machine reports the error of the cloud, because clients read
 * the error code of every machine. The creation timeout also applies during a shortage.
 */
function planShortage(o: MachineObservation, now: Date): Plan | undefined {
  const { shortage, calls, machine, settings } = o;
  if (!shortage || (shortage.free && now >= shortage.retryAt)) return undefined;
  const own = calls.last?.kind === 'create' && !calls.last.outcome.ok ? calls.last.outcome.error : undefined;
  const error = own ?? shortage.error;
  const because = own ? creationFailed(error) : refusedElsewhere(o, error);
  const said = sayFailed(o, error, now, because);
  const blockedBy = [capacityBlock(o, NO_CAPACITY)];
  if (said.length > 0) return { ...act(because, ...said), blockedBy };
  const timeout = after(machine.metadata.creationTimestamp, settings.creationTimeoutMs);
  const instants = [shortage.retryAt, timeout].filter((instant) => now <= instant);
  return { ...wait(because, ...instants), awaitsCapacity: true, blockedBy };
}

function planRetry(
  o: MachineObservation,
  last: SettledCall,
  error: MachineError,
  backoff: Backoff,
  describe: (error: MachineError) => string,
  now: Date,
): Plan {
  const retryAt = new Date(last.at.getTime() + retryAfter(backoff, error, last.failures));
  const said = sayFailed(o, error, last.at, describe(error));
  if (said.length > 0) return act(describe(error), ...said);
  if (last.inputs !== o.inputs) return act('the class or Secret has changed', { do: 'call', call: last.kind });
  return now < retryAt ? wait(describe(error), retryAt) : act('try again', { do: 'call', call: last.kind });
}

function sayFailed(o: MachineObservation, error: MachineError, at: Date, description: string): Action[] {
  const status = failed(o, error, at, description);
  // The description of a waiting machine can be similar to the description of its own failure, because both contain the
  // message of the cloud.
  const isOwnNow = isBorrowed(o.machine.status?.lastOperation?.description) && !isBorrowed(description);
  if (!isOwnNow && isSimilarStatus(o.machine.status, status)) return [];
  const event = { type: 'Warning' as const, reason: 'CreationFailed' as const, message: description };
  return [{ do: 'writeStatus', status, event }];
}

const creationFailed = (error: MachineError): string =>
  `${DescriptionTexts.CloudProviderMessage}${printMachineError(error)}`;

const initializationFailed = (error: MachineError): string =>
  `Provider error: ${printMachineError(error)}. ${DescriptionTexts.InstanceInitialization}`;

function failed(o: MachineObservation, { code }: MachineError, at: Date, description: string): MachineStatus {
  const { machine, settings } = o;
  const overdue = at > after(machine.metadata.creationTimestamp, settings.creationTimeoutMs);
  const operation: Operation = { description, errorCode: code, state: 'Failed', type: 'Create' };
  return withPhase(machine.status, { phase: overdue ? 'Failed' : 'CrashLoopBackOff' }, operation, at);
}

/**
 * Returns the action that adds missing metadata. Another controller may have written only one of two fields: the
 * priority annotation or the Node label.
 */
function missingMetadata({ machine, calls, hasTarget }: MachineObservation): Action | undefined {
  const missesPriority = !machine.metadata.annotations?.[Annotations.Priority];
  const nodeName = instanceOf(calls.last?.outcome)?.nodeName;
  const missesLabel = hasTarget && machine.metadata.labels?.node === undefined && nodeName;
  if (!missesPriority && !missesLabel) return undefined;
  return { do: 'record', instance: { providerId: machine.spec.providerID ?? '', nodeName: nodeName ?? '' } };
}

const instanceOf = (outcome: CallOutcome | undefined): Instance | undefined =>
  outcome?.ok ? outcome.instance : undefined;

const CREATING: Operation = { description: 'Creating machine on cloud provider', state: 'Processing', type: 'Create' };

function pending(o: MachineObservation, now: Date): Action {
  if (!o.hasTarget) return { do: 'writeStatus', status: available(o, now) };
  return {
    do: 'writeStatus',
    status: withPhase(o.machine.status, { phase: 'Pending', timeoutActive: true }, CREATING, now),
  };
}

function available(o: MachineObservation, now: Date): MachineStatus {
  const operation: Operation = {
    description: 'Created machine on cloud provider',
    state: 'Successful',
    type: 'Create',
  };
  const status = withPhase(o.machine.status, { phase: 'Available' }, operation, now);
  const instance = instanceOf(o.calls.last?.outcome) ?? o.calls.created;
  return { ...status, addresses: mergeAddresses(o.machine.status?.addresses ?? [], instance) };
}

/**
 * Merges the known addresses with the addresses that the driver returned, sorted by type and address. mcm keeps
 * addresses that the driver no longer returns.
 */
export function mergeAddresses(known: readonly NodeAddress[], instance: Instance | undefined): NodeAddress[] {
  const hostname: Address[] = instance?.nodeName ? [{ type: 'Hostname', address: instance.nodeName }] : [];
  const all = new Map<string, NodeAddress>();
  for (const { type, address } of [...known, ...(instance?.addresses ?? []), ...hostname]) {
    all.set(`${type}${address}`, { type: type as NodeAddress['type'], address });
  }
  return [...all.entries()].sort(([a], [b]) => compareText(a, b)).map(([, address]) => address);
}
