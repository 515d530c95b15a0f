import { NodeAnnotations } from '../constants/annotations.ts';
import { type DaemonState, DaemonStates } from '../constants/states.ts';
import type { UpdatePhase } from './disk/journal.ts';

/** The result of the check of an update. */
export type Verdict =
  | { readonly kind: 'missing' | 'refused'; readonly reason: string }
  | { readonly kind: 'fits'; readonly drains: boolean };

/** The data about the node and the disk from which the daemon decides. All times are milliseconds of the same clock. */
export interface DaemonView {
  readonly nodeName: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Name of the config whose files are complete on the disk. */
  readonly stored?: string | undefined;
  readonly boot?: string | undefined;
  readonly journal?:
    | {
        readonly phase: UpdatePhase;
        readonly to: string;
        readonly rebootDue: boolean;
        /** During the first boot, the node cannot return to an earlier config. */
        readonly first?: boolean;
      }
    | undefined;
  readonly drift?: string | undefined;
  /** True if a user has created the force file, after which the daemon writes all files again and reboots. */
  readonly forced: boolean;
  /** True if the node existed before it had a config. The node then waits for the rollout. */
  readonly settled?: boolean;
  /**
   * The config for new nodes in the pool of the node. The config is undefined until the daemon has read the pools, and
   * null if no pool contains the node.
   */
  readonly first?: string | null | undefined;
  readonly verdict?: Verdict | undefined;
  readonly failure?: { readonly target: string; readonly reason: string; readonly retryAt: number } | undefined;
  readonly askedAt?: number;
  readonly now: number;
}

/** The next step of the daemon. */
export type DaemonStep =
  | { readonly kind: 'idle' }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'write'; readonly annotations: Readonly<Record<string, string | null>> }
  | { readonly kind: 'adopt'; readonly name: string }
  | { readonly kind: 'first' }
  | { readonly kind: 'evaluate'; readonly target: string }
  | { readonly kind: 'apply'; readonly target: string }
  | { readonly kind: 'certificates'; readonly version: string }
  | { readonly kind: 'resume' | 'undo' | 'finish' | 'reboot' | 'force' };

/** After this time, the daemon reports a failed drain and requests the drain again. Source: drain.go. */
export const DRAIN_TIMEOUT_MS = 3_600_000;
/** After this time, the daemon reports a failed uncordon. */
export const UNCORDON_TIMEOUT_MS = 600_000;
/** Source: constants.go. */
const REASON_LIMIT = 2_000;
/** The daemon polls the disk, because a repair of the disk may cause no event. */
const DRIFT_LOOK_MS = 60_000;

/** The daemon polls for its pool, because it gets no event about a new pool. */
const FIRST_LOOK_MS = 30_000;

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain, LastAppliedDrain } = NodeAnnotations;
const { ControlPlaneTopology, PostConfigAction, DesiredCertificates, CurrentCertificates } = NodeAnnotations;
const IDLE: DaemonStep = { kind: 'idle' };
const DRAIN = 'drain-';

/** Decides the next step of the daemon, without side effects. */
export function decide(view: DaemonView): DaemonStep {
  const { annotations, stored, boot, journal } = view;
  const desired = annotations[DesiredConfig] ?? '';
  if (journal) return ofJournal(view, journal, desired);
  if (stored === undefined) {
    const known = boot ?? annotations[CurrentConfig];
    if (known) return unlessFailed(view, known, () => ({ kind: 'adopt', name: known }));
    return desired === '' ? begun(view) : update(view, desired);
  }
  if (!annotations[CurrentConfig]) return write(done(view, stored));
  // After a restore of the API server, all nodes detect at the same time that their disks have a newer config. Each
  // node keeps its config until the rollout.
  if (isForgotten(annotations, stored)) return write({ [CurrentConfig]: stored, [DesiredConfig]: stored });
  const version = annotations[DesiredCertificates] ?? '';
  // New certificates have priority over a changed disk, a refused target and a drain.
  if (version !== '' && version !== annotations[CurrentCertificates]) {
    return unlessFailed(view, version, () => ({ kind: 'certificates', version }));
  }
  if (view.forced) return unlessFailed(view, stored, () => ({ kind: 'force' }));
  if (view.drift !== undefined) return report(view, DaemonStates.Degraded, view.drift, DRIFT_LOOK_MS);
  return desired === '' || desired === stored ? complete(view, stored) : update(view, desired);
}

/**
 * Returns true if the annotations report Done for a config that is not on the disk, and the node has no other target.
 */
const isForgotten = (annotations: DaemonView['annotations'], stored: string): boolean =>
  annotations[State] === DaemonStates.Done &&
  annotations[CurrentConfig] !== stored &&
  annotations[CurrentConfig] === annotations[DesiredConfig];

/**
 * If a node has no config and is not in its first boot, the node has workloads. The update controller then sets the
 * target of the node.
 */
function begun({ first, settled = false, annotations }: DaemonView): DaemonStep {
  const asked = annotations[DesiredDrain] ?? '';
  if (asked.startsWith(DRAIN)) return write({ [DesiredDrain]: `uncordon-${asked.slice(DRAIN.length)}` });
  if (settled) {
    return annotations[State] === DaemonStates.Waiting ? IDLE : write({ [State]: DaemonStates.Waiting, [Reason]: '' });
  }
  if (first === undefined) return { kind: 'first' };
  return first === null
    ? { kind: 'wait', ms: FIRST_LOOK_MS }
    : write({ [DesiredConfig]: first, [State]: DaemonStates.Working });
}

function ofJournal(
  view: DaemonView,
  { phase, to, rebootDue, first = false }: NonNullable<DaemonView['journal']>,
  desired: string,
): DaemonStep {
  if (phase === 'applied') {
    if (!rebootDue) return unlessFailed(view, to, () => ({ kind: 'finish' }));
    const said = view.annotations[PostConfigAction] === 'Rebooting';
    return unlessFailed(view, to, () => (said ? { kind: 'reboot' } : write({ [PostConfigAction]: 'Rebooting' })));
  }
  if (first && phase === 'applying' && (desired === '' || desired === to)) {
    return unlessFailed(view, to, () => ({ kind: 'resume' }));
  }
  const failed = view.failure?.target === to ? view.failure : undefined;
  if (phase === 'undoing') return unlessFailed(view, to, () => ({ kind: 'undo' }));
  return desired === to && !failed ? { kind: 'resume' } : { kind: 'undo' };
}

function unlessFailed(view: DaemonView, target: string, next: () => DaemonStep): DaemonStep {
  const { failure, now } = view;
  if (failure?.target !== target || failure.retryAt <= now) return next();
  return report(view, DaemonStates.Degraded, failure.reason, failure.retryAt - now);
}

function report(view: DaemonView, state: DaemonState, reason: string, againMs: number): DaemonStep {
  const { annotations } = view;
  const cut = reason.slice(0, REASON_LIMIT);
  if (annotations[State] === state && annotations[Reason] === cut) return { kind: 'wait', ms: againMs };
  return write({ [State]: state, [Reason]: cut });
}

const write = (annotations: Readonly<Record<string, string | null>>): DaemonStep => ({ kind: 'write', annotations });

function done({ annotations }: DaemonView, stored: string): Record<string, string | null> {
  const wanted: Record<string, string> = { [CurrentConfig]: stored, [State]: DaemonStates.Done, [Reason]: '' };
  if (!annotations[DesiredConfig]) wanted[DesiredConfig] = stored;
  const changes: Record<string, string | null> = Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => (annotations[key] ?? '') !== value),
  );
  if (annotations[PostConfigAction] !== undefined) changes[PostConfigAction] = null;
  return changes;
}

function complete(view: DaemonView, stored: string): DaemonStep {
  const { annotations, askedAt, now, nodeName } = view;
  const asked = annotations[DesiredDrain] ?? '';
  if (asked.startsWith(DRAIN)) return write({ [DesiredDrain]: `uncordon-${stored}` });
  if (asked !== (annotations[LastAppliedDrain] ?? '') && asked !== '') {
    const left = (askedAt ?? now) + UNCORDON_TIMEOUT_MS - now;
    if (left > 0) return { kind: 'wait', ms: left };
    const reason = `failed to uncordon node: ${nodeName} after 10 minutes. Please see machine-config-controller logs for more information`;
    return report(view, DaemonStates.Degraded, reason, UNCORDON_TIMEOUT_MS);
  }
  const changes = done(view, stored);
  return Object.keys(changes).length > 0 ? write(changes) : IDLE;
}

function update(view: DaemonView, target: string): DaemonStep {
  const { verdict, failure, now } = view;
  const waiting = failure?.target === target && failure.retryAt > now ? failure.retryAt - now : undefined;
  if (verdict?.kind === 'refused' && waiting !== undefined) {
    return report(view, DaemonStates.Unreconcilable, verdict.reason, waiting);
  }
  return unlessFailed(view, target, () => {
    if (verdict?.kind !== 'fits') return { kind: 'evaluate', target };
    return verdict.drains ? drained(view, target) : begin(view, target);
  });
}

/** The daemon requests no drain for the only node of a cluster, because its pods cannot move to another node. */
function drained(view: DaemonView, target: string): DaemonStep {
  const { annotations, askedAt, now, nodeName } = view;
  const wanted = `${DRAIN}${target}`;
  if (annotations[ControlPlaneTopology] === 'SingleReplica' || annotations[LastAppliedDrain] === wanted) {
    return begin(view, target);
  }
  if (annotations[DesiredDrain] !== wanted) return write({ ...working(view), [DesiredDrain]: wanted });
  const left = (askedAt ?? now) + DRAIN_TIMEOUT_MS - now;
  if (left > 0) return { kind: 'wait', ms: left };
  const reason = `failed to drain node: ${nodeName} after 1 hour. Please see machine-config-controller logs for more information`;
  return report(view, DaemonStates.Degraded, reason, DRAIN_TIMEOUT_MS);
}

function begin(view: DaemonView, target: string): DaemonStep {
  const changes = working(view);
  return Object.keys(changes).length > 0 ? write(changes) : { kind: 'apply', target };
}

/** A node that is Degraded or Unreconcilable keeps its state until the update can continue. */
function working({ annotations }: DaemonView): Record<string, string> {
  const { Working, Degraded, Unreconcilable } = DaemonStates;
  const said = annotations[State] ?? '';
  return [Working, Degraded, Unreconcilable].some((state) => state === said) ? {} : { [State]: Working };
}
