import { type EventReason, type MachineSet, MachineSetConditions, type MachineSetConditionType } from '@mcm/api';
import { breakerMessage } from '../disruption/override.ts';
import type { HeldMachine } from '../disruption/repairs.ts';
import {
  type AnyCondition,
  findCondition,
  type SetConditionChange,
  setSetCondition,
  withoutCondition,
} from '../objects/conditions.ts';
import { listedNames } from '../values/texts.ts';

const { InvalidSpec, ReplacementHeld } = MachineSetConditions;

type Conditions = readonly AnyCondition<MachineSetConditionType>[];
type Problem = Extract<SetConditionChange, { type: EventReason }>;

export interface SetProblems {
  readonly lacksClass: boolean;
  /** The machines that mcm does not replace because of an open circuit breaker. */
  readonly held: readonly HeldMachine[];
}

const classNotFound = ({ metadata, spec }: MachineSet): Problem => ({
  type: InvalidSpec,
  status: 'True',
  reason: 'ClassNotFound',
  message: `spec.template.spec.class.name: there is no MachineClass "${spec.template.spec.class.name}" in namespace "${metadata.namespace ?? ''}". mcm creates no machine until the class exists.`,
});

const replacementHeld = (held: SetProblems['held'], { breaker }: HeldMachine): Problem => ({
  type: ReplacementHeld,
  status: 'True',
  reason: 'ManyMachinesUnreachable',
  message: `Machines not replaced: ${listedNames(held.map(({ machine }) => machine))}. ${breakerMessage(breaker)}`,
});

export interface ProblemEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
}

export function withProblems(
  set: MachineSet,
  stored: Conditions,
  conditions: Conditions,
  { lacksClass, held }: SetProblems,
  now: Date,
): { readonly conditions: AnyCondition<MachineSetConditionType>[]; readonly events: readonly ProblemEvent[] } {
  const [first] = held;
  const problems = [...(lacksClass ? [classNotFound(set)] : []), ...(first ? [replacementHeld(held, first)] : [])];
  let wanted = [...conditions];
  for (const type of [InvalidSpec, ReplacementHeld] as const) {
    const problem = problems.find((one) => one.type === type);
    wanted = problem ? setSetCondition(wanted, problem, now) : withoutCondition(wanted, type);
  }
  const events = problems
    .filter(({ type }) => !findCondition(stored, type))
    .map(({ type, message }): ProblemEvent => ({ type: 'Warning', reason: type, message }));
  if (!first && findCondition(stored, ReplacementHeld)) {
    const message =
      'mcm replaces Failed machines again: the circuit breaker closed, or an annotation overrides the circuit breaker.';
    events.push({ type: 'Normal', reason: 'ReplacementResumed', message });
  }
  return { conditions: wanted, events };
}
