import { NodeAnnotations } from '../constants/annotations.ts';
import { type DaemonState, DaemonStates } from '../constants/states.ts';
import type { UpdatePhase } from './disk/journal.ts';

/** What the daemon found out about an update. */
export type Verdict =
  | { readonly kind: 'missing' | 'refused'; readonly reason: string }
  | { readonly kind: 'fits'; readonly drains: boolean };

/** Everything that the daemon decides upon. Times are milliseconds of one clock. */
export interface DaemonView {
  readonly nodeName: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Name of the config that the disk has in full. */
  readonly stored?: string;
  /** Name of the config of the first boot. */
  readonly boot?: string;
  readonly journal?: {
    readonly phase: UpdatePhase;
    readonly to: string;
    readonly rebootDue: boolean;
    /** The rest of the first boot: there is nothing to go back to. */
    readonly first?: boolean;
  };
  /** How the disk differs from what is stored. */
  readonly drift?: string;
  /** The force file is there: write everything anew and reboot. */
  readonly forced: boolean;
  /** The node was there long before it has a config: it takes the first one in its turn. */
  readonly settled?: boolean;
  /** What the node's pool gives to new nodes; absent: not asked yet; null: no pool has it. */
  readonly first?: string | null;
  /** About the update from what is stored to the target. */
  readonly verdict?: Verdict;
  /** The last try to reach a target failed. */
  readonly failure?: { readonly target: string; readonly reason: string; readonly retryAt: number };
  /** Since when the drain controller is waited for. */
  readonly askedAt?: number;
  readonly now: number;
}

/** What the daemon does next. */
export type DaemonStep =
  | { readonly kind: 'idle' }
  /** Look again after so long, if nothing happens before. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** One patch of the node's annotations; null removes. */
  | { readonly kind: 'write'; readonly annotations: Readonly<Record<string, string | null>> }
  /** The machine was given this config before the daemon came: note it as stored. */
  | { readonly kind: 'adopt'; readonly name: string }
  /** Ask what the node's pool gives to new nodes. */
  | { readonly kind: 'first' }
  /** Read the target and judge the update. */
  | { readonly kind: 'judge'; readonly target: string }
  | { readonly kind: 'apply'; readonly target: string }
  /** Bring the certificates that the node is told. */
  | { readonly kind: 'certificates'; readonly version: string }
  | { readonly kind: 'resume' | 'undo' | 'finish' | 'reboot' | 'force' };

/** The drain controller has so long; then the daemon says that it failed and asks again. Source: drain.go. */
export const DRAIN_TIMEOUT_MS = 3_600_000;
/** The same for uncordoning a node. */
export const UNCORDON_TIMEOUT_MS = 600_000;
/** A reason in an annotation is cut here. Source: constants.go. */
const REASON_LIMIT = 2_000;
/** A disk that drifted is looked at again, should nobody tell of its repair. */
const DRIFT_LOOK_MS = 60_000;

/** A new pool, or one that is rendered for the first time, tells no daemon. */
const FIRST_LOOK_MS = 30_000;

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain, LastAppliedDrain } = NodeAnnotations;
const { ControlPlaneTopology, PostConfigAction, DesiredCertificates, CurrentCertificates } = NodeAnnotations;
const IDLE: DaemonStep = { kind: 'idle' };
/** How a drain is asked for, before the name of the configuration that needs it. */
const DRAIN = 'drain-';

/** Decides the one next step. Pure; after each step it is asked anew. */
export function decide(view: DaemonView): DaemonStep {
  const { annotations, stored, boot, journal } = view;
  const desired = annotations[DesiredConfig] ?? '';
  if (journal) return ofJournal(view, journal, desired);
  if (stored === undefined) {
    const known = boot ?? annotations[CurrentConfig];
    if (known) return unlessFailed(view, known, () => ({ kind: 'adopt', name: known }));
    return desired === '' ? begun(view) : update(view, desired);
  }
  // A node that was made anew, or that never heard of its daemon.
  if (!annotations[CurrentConfig]) return write(done(view, stored));
  // The server went back to a time before the last update. All nodes find that at once: each waits for its turn.
  if (isForgotten(annotations, stored)) return write({ [CurrentConfig]: stored, [DesiredConfig]: stored });
  const version = annotations[DesiredCertificates] ?? '';
  // They come before anything else that the node may wait for: a drift, a refusal, a drain.
  if (version !== '' && version !== annotations[CurrentCertificates]) {
    return unlessFailed(view, version, () => ({ kind: 'certificates', version }));
  }
  if (view.forced) return unlessFailed(view, stored, () => ({ kind: 'force' }));
  if (view.drift !== undefined) return report(view, DaemonStates.Degraded, view.drift, DRIFT_LOOK_MS);
  return desired === '' || desired === stored ? complete(view, stored) : update(view, desired);
}

/** Whether the node says that it is Done with a configuration that the disk does not have, and nothing else is asked for. */
const isForgotten = (annotations: DaemonView['annotations'], stored: string): boolean =>
  annotations[State] === DaemonStates.Done &&
  annotations[CurrentConfig] !== stored &&
  annotations[CurrentConfig] === annotations[DesiredConfig];

/**
 * A machine that nobody gave a config at its first boot takes that of its pool. One that has been there for long has
 * workloads: the update controller tells it, a few at a time.
 */
function begun({ first, settled = false, annotations }: DaemonView): DaemonStep {
  // Nothing is to be applied, so a drain that was asked for in a former life is given back.
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

/** Waits for its time after a failure, having said why. */
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

/** What a node says that has what is stored; only what it does not say yet. */
function done({ annotations }: DaemonView, stored: string): Record<string, string | null> {
  const wanted: Record<string, string> = { [CurrentConfig]: stored, [State]: DaemonStates.Done, [Reason]: '' };
  if (!annotations[DesiredConfig]) wanted[DesiredConfig] = stored;
  const changes: Record<string, string | null> = Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => (annotations[key] ?? '') !== value),
  );
  if (annotations[PostConfigAction] !== undefined) changes[PostConfigAction] = null;
  return changes;
}

/** The disk is where it should be: what the drain took away is given back, then the node is done. */
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
    if (verdict?.kind !== 'fits') return { kind: 'judge', target };
    return verdict.drains ? drained(view, target) : begin(view, target);
  });
}

/** Asks for the drain and waits for it. The only node of a cluster has nowhere to drain to. */
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

/** A node that said why it cannot go on says so until it can. */
function working({ annotations }: DaemonView): Record<string, string> {
  const { Working, Degraded, Unreconcilable } = DaemonStates;
  const said = annotations[State] ?? '';
  return [Working, Degraded, Unreconcilable].some((state) => state === said) ? {} : { [State]: Working };
}
