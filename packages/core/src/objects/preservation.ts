import { Annotations, Labels, type Machine, PreserveValues, parseTime } from '@mcm/api';
import { compareText } from '../values/integers.ts';
import { createdAt, isFailed, preserveExpiry } from './machines.ts';

/** The annotations of a machine's node from the cache; undefined: there is no such node; `unseen`: unknown. */
export type NodeAnnotations = (nodeName: string) => Readonly<Record<string, string>> | 'unseen' | undefined;

const KEEPS: ReadonlySet<string> = new Set([
  PreserveValues.Now,
  PreserveValues.WhenFailed,
  PreserveValues.AutoPreserved,
]);
const KNOWN: ReadonlySet<string> = new Set(Object.values(PreserveValues));

/**
 * The preserve value that applies. The node's value applies if the node is, or was, annotated. Without a node, the
 * machine's own value applies, or else the last value of the node (the original deletes the machine: ODD-11 of
 * docs/compatibility/rules-deployments.md).
 */
function effectivePreserveValue(machine: Machine, nodeAnnotations: NodeAnnotations): string {
  const own = machine.metadata.annotations?.[Annotations.Preserve] ?? '';
  const nodeName = machine.metadata.labels?.[Labels.Node];
  const node = nodeName ? nodeAnnotations(nodeName) : {};
  const lastApplied = machine.metadata.annotations?.[Annotations.LastAppliedNodePreserve] ?? '';
  if (node === undefined) return KNOWN.has(own) ? own : lastApplied;
  // The unknown annotation may preserve the machine, and a deletion cannot be undone.
  if (node === 'unseen') return PreserveValues.WhenFailed;
  const onNode = node[Annotations.Preserve] ?? '';
  return onNode === '' && lastApplied === '' ? own : onNode;
}

/** True if a Failed machine may be deleted now: it is no longer preserved, and no annotation requests its preservation. */
export function mayDeleteFailed(machine: Machine, nodeAnnotations: NodeAnnotations, now: Date): boolean {
  const expiry = preserveExpiry(machine);
  if (expiry !== undefined) return expiry <= now.getTime();
  return !KEEPS.has(effectivePreserveValue(machine, nodeAnnotations));
}

/** Machines whose `auto-preserved` annotation must be written or removed. */
export interface AutoPreservation {
  readonly preserve: readonly Machine[];
  readonly stop: readonly Machine[];
}

const isAutoPreserved = (machine: Machine): boolean =>
  machine.metadata.annotations?.[Annotations.Preserve] === PreserveValues.AutoPreserved;

/** mcm writes both at once when a machine fails. The original takes the time twice. */
const SAME_WRITE_MS = 2_000;

/**
 * True if the machine was preserved after its failure and that time is over. Its annotation and expiry are removed one after
 * the other. Without this check, the next automatic preservation would follow, without end. Only the status shows it: a
 * preservation changes the time of the phase at its start and end, but not the time of the last operation.
 */
function wasKept(machine: Machine, now: Date): boolean {
  const expiry = preserveExpiry(machine);
  if (expiry !== undefined) return expiry <= now.getTime();
  const { currentStatus, lastOperation } = machine.status ?? {};
  const failedAt = parseTime(lastOperation?.lastUpdateTime);
  const changedAt = parseTime(currentStatus?.lastUpdateTime);
  return failedAt !== undefined && changedAt !== undefined && changedAt.getTime() - failedAt.getTime() > SAME_WRITE_MS;
}

const oldestFirst = (a: Machine, b: Machine): number =>
  createdAt(a) - createdAt(b) || compareText(a.metadata.name, b.metadata.name);

/**
 * Preserves the newest Failed machines up to the maximum, or releases the oldest after a lower maximum. None is
 * preserved twice for one failure. The machines themselves are counted, because the status may lag.
 *
 * @param max `spec.autoPreserveFailedMachineMax`.
 */
export function planAutoPreservation(machines: readonly Machine[], max: number, now: Date): AutoPreservation {
  const preserved = machines.filter(isAutoPreserved);
  const free = max - preserved.length;
  if (free < 0) return { preserve: [], stop: preserved.toSorted(oldestFirst).slice(0, -free) };
  if (free === 0) return { preserve: [], stop: [] };
  const candidates = machines.filter(
    (machine) =>
      isFailed(machine) &&
      machine.metadata.deletionTimestamp === undefined &&
      !wasKept(machine, now) &&
      !KNOWN.has(machine.metadata.annotations?.[Annotations.Preserve] ?? ''),
  );
  return { preserve: candidates.toSorted(oldestFirst).reverse().slice(0, free), stop: [] };
}
