import {
  Annotations,
  type EventReason,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineDeploymentConditionType,
} from '@mcm/api';
import { breakerMessage } from '../../disruption/override.ts';
import { type ConditionChange, findCondition } from '../../objects/conditions.ts';
import { listedNames } from '../../values/texts.ts';
import { ignoredInput } from './ignored-input.ts';
import type { PlannedEvent } from './rollback.ts';
import type { View } from './view.ts';

const { InvalidSpec, ReplacementHeld, RolloutBlocked, RolloutWaiting } = MachineDeploymentConditions;

type Reported = Extract<ConditionChange, { type: EventReason }>;

export interface Problems {
  readonly conditions: readonly ConditionChange[];
  readonly events: readonly PlannedEvent[];
}

/** The result of one check: a condition that blocks the rollout, or a reason for waiting. */
interface Outcome {
  readonly condition?: ConditionChange | undefined;
  readonly waits?: { readonly reason: 'NodePostponed' | 'CanaryPodsUnknown' };
  readonly because: string;
}

const said = ({ status }: MachineDeployment, type: MachineDeploymentConditionType) =>
  findCondition(status?.conditions ?? [], type);

function replacementHeld({ repairs }: View): Reported | undefined {
  const [first] = repairs.held;
  if (first === undefined) return undefined;
  const names = listedNames(repairs.held.map(({ machine }) => machine));
  const message = `Machines not replaced: ${names}. ${breakerMessage(first.breaker)}`;
  return { type: ReplacementHeld, status: 'True', reason: 'ManyMachinesUnreachable', message };
}

/** Returns the name of the deployment's MachineClass if the cache does not contain the class. */
export function missingClass({ deployment, hasClass }: Pick<View, 'deployment' | 'hasClass'>): string | undefined {
  const { kind, name = '' } = deployment.spec.template.spec.class;
  return kind === 'MachineClass' && !hasClass(name) ? name : undefined;
}

function classNotFound(view: View): Reported | undefined {
  const name = missingClass(view);
  if (name === undefined) return undefined;
  const message = `spec.template.spec.class.name: there is no MachineClass "${name}" in namespace "${view.deployment.metadata.namespace ?? ''}". mcm creates no machine until the class exists or the field names another class.`;
  return { type: InvalidSpec, status: 'True', reason: 'ClassNotFound', message };
}

/** A paused rollout has only the condition about the pause. */
function waitingRollout(
  { closed, deployment }: View,
  { waits, because }: Outcome,
): Extract<Reported, { type: 'RolloutWaiting' }> | undefined {
  const reason = closed?.reason ?? waits?.reason;
  if (reason === undefined || deployment.spec.paused === true) return undefined;
  // A short wait for the rollout budget causes no condition.
  if (closed?.reason === 'RolloutBudget' && closed.brief && said(deployment, RolloutWaiting)?.reason !== closed.reason)
    return undefined;
  const message = (closed?.because ?? because).replace(/^waiting: /, 'The rollout waits: ');
  return { type: RolloutWaiting, status: 'True', reason, message: `${message}.` };
}

const hasRolledOut = ({ metadata }: MachineDeployment): boolean =>
  metadata.annotations?.[Annotations.Revision] !== undefined;

/**
 * Creation times are rounded to seconds, so two deployments can have equal times. At equal times, a deployment with a
 * set counts as older, so that a new deployment never stops a running deployment.
 */
function isOlder(a: MachineDeployment, b: MachineDeployment): boolean {
  const [first, second] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (first !== second) return first < second;
  if (hasRolledOut(a) !== hasRolledOut(b)) return hasRolledOut(a);
  return a.metadata.uid < b.metadata.uid;
}

/** If two deployments select each other's machines, the older deployment continues and the younger deployment waits. */
export const overlappedBy = ({
  deployment,
  overlaps = [],
}: Pick<View, 'deployment' | 'overlaps'>): readonly MachineDeployment[] =>
  overlaps.filter((other) => isOlder(other, deployment));

function selectorsOverlap(view: View): Reported | undefined {
  const { overlaps = [] } = view;
  if (overlaps.length === 0) return undefined;
  const names = overlaps.map(({ metadata }) => metadata.name).sort();
  const stands =
    overlappedBy(view).length > 0
      ? 'mcm creates no machines for this deployment, because the overlapping deployment is older'
      : 'mcm continues the rollout of this deployment, because the overlapping deployments are newer';
  const message = `spec.selector: selects the same machines as MachineDeployment ${names.join(', ')}. ${stands}. Neither deployment adopts sets until the selectors differ.`;
  return { type: InvalidSpec, status: 'True', reason: 'SelectorOverlaps', message };
}

const NO_REVISION = 'RollbackRevisionNotFound';

/** The condition about a refused rollback stays until the spec changes. */
function rollbackRefused({ deployment, refusedRollback }: View): ConditionChange | undefined {
  const { generation = 0 } = deployment.metadata;
  const stored = said(deployment, RolloutBlocked);
  const stands = stored?.reason === NO_REVISION && (deployment.status?.observedGeneration ?? 0) >= generation;
  const message = refusedRollback ?? (stands ? stored.message : undefined);
  return message === undefined ? undefined : { type: RolloutBlocked, status: 'True', reason: NO_REVISION, message };
}

export function problemsOf(view: View, step: Outcome): Problems {
  const { deployment } = view;
  const blocked = step.condition?.type === RolloutBlocked;
  const refused = blocked ? undefined : rollbackRefused(view);
  const invalid = selectorsOverlap(view) ?? classNotFound(view);
  const held = replacementHeld(view);
  const ignored = ignoredInput(deployment);
  const conditions = [invalid, held, ignored].filter((one) => one !== undefined);
  const begun = conditions.filter(({ type, reason }) => said(deployment, type)?.reason !== reason);
  const events = begun.map(({ type, message }): PlannedEvent => ({ type: 'Warning', reason: type, message }));
  if (!held && said(deployment, ReplacementHeld)) {
    const message =
      'mcm replaces Failed machines again: the circuit breaker closed, or an annotation overrides the circuit breaker.';
    events.push({ type: 'Normal', reason: 'ReplacementResumed', message });
  }
  const waiting = waitingRollout(view, step);
  if (waiting && said(deployment, RolloutWaiting)?.reason !== waiting.reason) {
    events.push({ type: 'Normal', reason: waiting.type, message: waiting.message });
  }
  // The manager already sent the event about the refused rollback when it removed the rollback request.
  const more = [waiting, refused].filter((one) => one !== undefined);
  return { conditions: [...conditions, ...more], events };
}
