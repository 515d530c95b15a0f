import {
  Annotations,
  formatTime,
  Labels,
  type Machine,
  NodeConditions,
  PreservedMessages,
  PreservedReasons,
  PreserveValues,
  phaseOf,
  Taints,
  TRUE_LOWER,
} from '@mcm/api';
import type { Condition, Node, Taint } from '@mcm/kube';
import { defined, withoutUndefined } from '@mcm/kube';
import { planDrain } from '../../drain/drain.ts';
import type { NodeChange } from '../../node/patch.ts';
import { goTime, millis } from '../../values/timestamps.ts';
import type { MachineObservation } from '../model/observation.ts';
import { act, nextAt, type Plan } from '../model/plan.ts';
import { planPods } from '../model/pod-actions.ts';

const VALUES: ReadonlySet<string> = new Set(Object.values(PreserveValues));

const requestOf = (object: Machine | Node | undefined): string => {
  const value = object?.metadata.annotations?.[Annotations.Preserve] ?? '';
  return VALUES.has(value) ? value : '';
};

const lastAppliedOf = (machine: Machine): string =>
  machine.metadata.annotations?.[Annotations.LastAppliedNodePreserve] ?? '';

const expiryOf = ({ status }: Machine): string | undefined => status?.currentStatus?.preserveExpiryTime ?? undefined;

/**
 * Returns the effective value of the annotation `preserve`. If the Node has or had the annotation `preserve`, the value
 * of the Node applies. If the Node never had the annotation `preserve`, the value of the Machine applies. In contrast
 * to the original, a request on a Node stays effective after the deletion of the Node. Source:
 * getEffectivePreservationAnnotations.
 */
export function effectiveValue(machine: Machine, node: Node | undefined): string {
  const own = requestOf(machine);
  if (machine.metadata.labels?.[Labels.Node] && !node) {
    const last = lastAppliedOf(machine);
    return own === '' && VALUES.has(last) ? last : own;
  }
  const onNode = requestOf(node);
  return onNode === '' && lastAppliedOf(machine) === '' ? own : onNode;
}

const preservedCondition = (node: Node | undefined): Condition | undefined =>
  node?.status?.conditions?.find(({ type }) => type === NodeConditions.Preserved);

export const wantsPreservationDrain = (machine: Machine, node: Node | undefined): boolean =>
  machine.status?.currentStatus?.phase === 'Failed' &&
  expiryOf(machine) !== undefined &&
  !preservedCondition(node)?.message?.includes(PreservedMessages.Drained);

/**
 * Plans the preservation of a machine, or returns undefined if no action is necessary. Each status write of a creation
 * removes the expiry, so mcm cannot preserve a machine in creation. Source: machine-controller-manager,
 * machine_util.go, manageMachinePreservation.
 */
export function planPreservation(o: MachineObservation, now: Date): Plan | undefined {
  const { machine, node } = o;
  const phase = phaseOf(o.machine);
  if (phase === undefined || phase === 'CrashLoopBackOff') return undefined;
  const expiry = expiryOf(machine);
  if (!expiry && requestOf(machine) === '' && requestOf(node) === '' && lastAppliedOf(machine) === '') return undefined;
  const expired = expiry !== undefined && millis(expiry) <= now.getTime();
  const failed = phase === 'Failed';
  const value = effectiveValue(machine, node);
  switch (value) {
    case PreserveValues.Now:
      return expired ? stop(o, true, now) : preserve(o, value, now);
    case PreserveValues.WhenFailed:
      if (expired) return stop(o, true, now);
      return failed ? preserve(o, value, now) : stop(o, false, now);
    case PreserveValues.AutoPreserved:
      return failed && !expired ? preserve(o, value, now) : stop(o, true, now);
    default:
      return stop(o, false, now);
  }
}

function withExpiry(
  { machine }: MachineObservation,
  expiry: string | undefined,
  message: string,
  now: Date,
): Plan['actions'] {
  const current = machine.status?.currentStatus;
  if (!current) return [];
  const { preserveExpiryTime: _, ...rest } = current;
  const lastUpdateTime = formatTime(now);
  const currentStatus = withoutUndefined({ ...rest, lastUpdateTime, preserveExpiryTime: expiry || undefined });
  const event = { type: 'Normal', reason: expiry ? 'Preserved' : 'PreservationEnded', message } as const;
  return [{ do: 'writeStatus', status: { ...machine.status, currentStatus }, event }];
}

function preserve(o: MachineObservation, value: string, now: Date): Plan | undefined {
  const { machine, node } = o;
  const expiry = expiryOf(machine);
  if (!expiry) {
    const until = formatTime(new Date(now.getTime() + o.settings.preserveTimeoutMs));
    return act(
      'starting its preservation',
      ...withExpiry(o, until, `The machine is preserved until ${until}, because of ${requestText(o, value)}`, now),
    );
  }
  const due = { actions: [], next: nextAt(new Date(millis(expiry))), because: 'the machine is preserved' };
  const settled = node ? preserveNode(o, node, { value, expiry }, now) : undefined;
  return settled ?? recordNodeValue(o) ?? due;
}

interface Terms {
  readonly value: string;
  readonly expiry: string;
}

function preserveNode(o: MachineObservation, node: Node, terms: Terms, now: Date): Plan | undefined {
  const existing = preservedCondition(node);
  const drains = wantsPreservationDrain(o.machine, node);
  const done =
    existing !== undefined &&
    !drains &&
    !buildCondition(existing, terms, undefined, now, phaseOf(o.machine) === 'Running');
  const change = nodeChange(node, {
    annotations: done ? undefined : protection(node),
    ...(drains ? { tainted: true } : phaseOf(o.machine) === 'Running' ? { tainted: false } : {}),
    now,
  });
  if (change) return act('marking the Node of the machine as preserved', { do: 'syncNode', patch: { main: change } });
  if (done) return undefined;
  let drained: 'yes' | 'no' | undefined;
  if (drains) {
    const plan = drain(o, terms, now);
    if (plan !== 'drained' && plan !== 'failed') return plan;
    drained = plan === 'drained' ? 'yes' : 'no';
  }
  const condition = buildCondition(existing, terms, drained, now, phaseOf(o.machine) === 'Running');
  if (condition) return act('setting the condition of the preserved Node', { do: 'setNodeCondition', condition });
  return drained === 'no' && o.drain ? wait(o, terms, now) : undefined;
}

function drain(o: MachineObservation, terms: Terms, now: Date): Plan | 'drained' | 'failed' {
  if (!o.drain) return 'drained';
  const plan = planDrain(o.drain, now);
  const pods = planPods(o, plan, 'draining the Node of a preserved Failed machine', now);
  if (pods) return pods;
  if (plan.drained) return 'drained';
  return plan.blockers.some(({ failed }) => failed) ? 'failed' : wait(o, terms, now);
}

function wait(o: MachineObservation, { expiry }: Terms, now: Date): Plan {
  const plan = o.drain && planDrain(o.drain, now);
  return {
    actions: [],
    next: nextAt(new Date(millis(expiry)), plan?.lookAgainAt),
    because: 'waiting for pods of a preserved Node to terminate',
    budgets: plan?.blockers.flatMap(({ budgets = [] }) => budgets) ?? [],
  };
}

/**
 * Returns the condition `Preserved` for the Node, or undefined if the condition is up to date.
 * @param recovered whether the machine runs again, so that mcm drains the node after another failure
 */
export function buildCondition(
  existing: Condition | undefined,
  { value, expiry }: Terms,
  drained: 'yes' | 'no' | undefined,
  now: Date,
  recovered = false,
): Condition | undefined {
  const until = `Machine preserved until ${goTime(expiry)}.`;
  const note = drained && { yes: PreservedMessages.Drained, no: PreservedMessages.NotDrained }[drained];
  const reason = value === PreserveValues.AutoPreserved ? PreservedReasons.ByMCM : PreservedReasons.ByUser;
  const over = recovered && existing?.message?.includes(PreservedMessages.Drained) === true;
  const same = note ? existing?.message?.includes(note) : existing?.status === 'True' && !over;
  // If only the requester of the preservation changed, the condition stays unchanged.
  if (same && !OTHER_REASONS.has(`${existing?.reason} ${reason}`)) return undefined;
  if (same && existing) return { ...existing, reason };
  const time = formatTime(now);
  return {
    type: NodeConditions.Preserved,
    status: drained === 'no' ? 'False' : 'True',
    reason,
    message: note ? `${note} ${until}` : until,
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  };
}

const OTHER_REASONS: ReadonlySet<string> = new Set([
  `${PreservedReasons.ByMCM} ${PreservedReasons.ByUser}`,
  `${PreservedReasons.ByUser} ${PreservedReasons.ByMCM}`,
]);

/**
 * Ends the preservation of a machine. The last write removes the expiry, so that the next reconcile continues after a
 * crash.
 */
function stop(o: MachineObservation, remove: boolean, now: Date): Plan | undefined {
  const { machine, node } = o;
  if (!expiryOf(machine)) return remove ? removeRequests(machine) : recordNodeValue(o);
  const existing = preservedCondition(node);
  if (existing && existing.reason !== PreservedReasons.Stopped) {
    const times = { lastHeartbeatTime: formatTime(now), lastTransitionTime: formatTime(now) };
    const ended = { status: 'False', reason: PreservedReasons.Stopped, message: '', ...times } as const;
    return act('ending its preservation', { do: 'setNodeCondition', condition: { ...existing, ...ended } });
  }
  const change = node && nodeChange(node, { annotations: unprotection(node, remove), tainted: false, now });
  if (change) return act('removing the preservation marks of the Node', { do: 'syncNode', patch: { main: change } });
  const removal = remove ? removeRequests(machine) : undefined;
  return removal ?? act('removing its preservation', ...withExpiry(o, undefined, endOf(o, now), now));
}

const requestText = ({ machine }: MachineObservation, value: string): string =>
  `annotation ${Annotations.Preserve}=${value} of the ${requestOf(machine) === value ? 'Machine' : 'Node'}`;

/** The annotation that requested the preservation may already be removed. */
function endOf(o: MachineObservation, now: Date): string {
  const { machine, node } = o;
  if (millis(expiryOf(machine)) <= now.getTime()) return 'The preservation of the machine ended: its time expired';
  const value = effectiveValue(machine, node);
  if (value === PreserveValues.False)
    return `The preservation of the machine ended because of ${requestText(o, value)}`;
  if (phaseOf(o.machine) === 'Failed') return 'The preservation of the machine ended: a user removed the annotation';
  const gone = value === '' ? ', or a user removed the annotation' : '';
  return `The preservation ended: the machine is not Failed${gone}`;
}

function removeRequests({ metadata: { annotations } }: Machine): Plan | undefined {
  const keys = [Annotations.Preserve, Annotations.LastAppliedNodePreserve].filter(
    (key) => annotations?.[key] !== undefined,
  );
  if (keys.length === 0) return undefined;
  return act('removing the annotation that requests the preservation', {
    do: 'annotate',
    annotations: Object.fromEntries(keys.map((key) => [key, null])),
  });
}

/**
 * Copies the request on the Node to the Machine. mcm removes the annotation of the Machine itself, because this
 * annotation could become effective later.
 */
function recordNodeValue({ machine, node }: MachineObservation): Plan | undefined {
  const own = machine.metadata.annotations?.[Annotations.Preserve];
  const [onNode, last] = [requestOf(node), lastAppliedOf(machine)];
  if (!node || (onNode === '' && last === '') || (onNode === last && own === undefined)) return undefined;
  const annotations: Changes = defined({
    [Annotations.Preserve]: own === undefined ? undefined : null,
    [Annotations.LastAppliedNodePreserve]: onNode,
  });
  return act('copying the preservation setting of the Node', { do: 'annotate', annotations });
}

type Changes = Record<string, string | null>;

/**
 * The machine-config controller removes its own protection after an update, so a preservation needs separate
 * annotations.
 */
const protection = ({ metadata: { annotations = {} } }: Node): Changes =>
  annotations[Annotations.ScaleDownDisabled] === TRUE_LOWER &&
  (annotations[Annotations.ScaleDownDisabledByMCC] === undefined ||
    annotations[Annotations.ScaleDownDisabledByMCM] === TRUE_LOWER)
    ? {}
    : { [Annotations.ScaleDownDisabled]: TRUE_LOWER, [Annotations.ScaleDownDisabledByMCM]: TRUE_LOWER };

/** Ends the scale-down protection of mcm, but keeps the protection by another client. */
export function unprotection({ metadata: { annotations = {} } }: Node, remove: boolean): Changes {
  const ours = annotations[Annotations.ScaleDownDisabledByMCM] === TRUE_LOWER;
  return defined({
    [Annotations.ScaleDownDisabled]: ours ? null : undefined,
    [Annotations.ScaleDownDisabledByMCM]: ours ? null : undefined,
    [Annotations.Preserve]: remove && annotations[Annotations.Preserve] ? null : undefined,
  });
}

const isOurs = ({ key, effect }: Taint): boolean => key === Taints.Preserved.key && effect === Taints.Preserved.effect;

interface Wanted {
  readonly annotations?: Changes | undefined;
  readonly tainted?: boolean;
  readonly now: Date;
}

function nodeChange(node: Node, { annotations = {}, tainted, now }: Wanted): NodeChange | undefined {
  const taints = node.spec.taints ?? [];
  const retaint = tainted !== undefined && taints.some(isOurs) !== tainted;
  if (!retaint && Object.keys(annotations).length === 0) return undefined;
  const others = taints.filter((taint) => !isOurs(taint));
  const next = tainted ? [...others, { ...Taints.Preserved, timeAdded: formatTime(now) }] : others;
  return {
    metadata: Object.keys(annotations).length > 0 ? { annotations } : undefined,
    spec: retaint ? { taints: next.length > 0 ? next : null } : undefined,
  };
}
