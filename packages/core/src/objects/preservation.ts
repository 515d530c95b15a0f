import { Annotations, Labels, type Machine, PreserveValues, parseTime } from '@mcm/api';
import { compareText } from '../values/integers.ts';
import { createdAt, isFailed, preserveExpiry } from './machines.ts';

/** Returns the annotations of a Node, `unseen` if mcm cannot read Nodes, or undefined if the Node does not exist. */
export type NodeAnnotations = (nodeName: string) => Readonly<Record<string, string>> | 'unseen' | undefined;

const KEEPS: ReadonlySet<string> = new Set([
  PreserveValues.Now,
  PreserveValues.WhenFailed,
  PreserveValues.AutoPreserved,
]);
const KNOWN: ReadonlySet<string> = new Set(Object.values(PreserveValues));

const known = (value = ''): string => (KNOWN.has(value) ? value : '');

/**
 * Returns the effective value of the preserve annotation.
 * - If the Node has or had the preserve annotation, the value of the Node applies.
 * - If the Node is gone, or never had the preserve annotation, the value of the machine applies. If the machine has no
 * value, the last recorded value of the Node applies.
 *
 * The original deletes a machine whose Node is gone (ODD-11).
 */
function effectivePreserveValue(machine: Machine, nodeAnnotations: NodeAnnotations): string {
  const own = known(machine.metadata.annotations?.[Annotations.Preserve]);
  const nodeName = machine.metadata.labels?.[Labels.Node];
  const node = nodeName ? nodeAnnotations(nodeName) : {};
  const lastApplied = machine.metadata.annotations?.[Annotations.LastAppliedNodePreserve] ?? '';
  if (node === undefined) return own === '' ? lastApplied : own;
  // If mcm cannot read the Node, the machine counts as preserved, because a wrong deletion cannot be undone.
  if (node === 'unseen') return PreserveValues.WhenFailed;
  const onNode = known(node[Annotations.Preserve]);
  return onNode === '' && lastApplied === '' ? own : onNode;
}

/** Returns true if the Failed machine is not preserved, and no annotation requests its preservation. */
export function mayDeleteFailed(machine: Machine, nodeAnnotations: NodeAnnotations, now: Date): boolean {
  const expiry = preserveExpiry(machine);
  if (expiry !== undefined) return expiry <= now.getTime();
  return !KEEPS.has(effectivePreserveValue(machine, nodeAnnotations));
}

export interface AutoPreservation {
  readonly preserve: readonly Machine[];
  readonly stop: readonly Machine[];
}

const isAutoPreserved = (machine: Machine): boolean =>
  machine.metadata.annotations?.[Annotations.Preserve] === PreserveValues.AutoPreserved;

/**
 * If two times in a status differ by at most this value, they come from one write. The original reads the clock twice
 * in one write.
 */
const SAME_WRITE_MS = 2_000;

/**
 * Returns true if mcm has already preserved the machine. mcm must not preserve a machine again after its preservation
 * has ended. The start and the end of a preservation change the time of the phase, but not the time of the last
 * operation.
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
 * Preserves the newest Failed machines up to the maximum. If the maximum was reduced, the preservation of the oldest
 * machines ends. mcm preserves no machine twice for one failure. The status of the set may be outdated, so the count of
 * preserved machines comes from the machines.
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
