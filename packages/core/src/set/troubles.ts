import { type EventReason, type MachineSet, MachineSetConditions, type MachineSetConditionType } from '@mcm/api';
import { breakerMessage } from '../disruption/override.ts';
import { type HeldMachine, listed } from '../disruption/repairs.ts';
import {
  type AnyCondition,
  findCondition,
  type SetConditionChange,
  setSetCondition,
  withoutCondition,
} from '../objects/conditions.ts';

const { InvalidSpec, ReplacementHeld } = MachineSetConditions;

type Conditions = readonly AnyCondition<MachineSetConditionType>[];
type Trouble = Extract<SetConditionChange, { type: EventReason }>;

/** What is wrong with a set beside its writes. */
export interface SetTroubles {
  readonly lacksClass: boolean;
  /** What a breaker keeps from being replaced; of a set of a deployment none: the deployment says it. */
  readonly held: readonly HeldMachine[];
}

/** Said of a set whose machines cannot be made; its deployment says the same of itself. */
const classNotFound = ({ metadata, spec }: MachineSet): Trouble => ({
  type: InvalidSpec,
  status: 'True',
  reason: 'ClassNotFound',
  message: `spec.template.spec.class.name: there is no MachineClass "${spec.template.spec.class.name}" in namespace "${metadata.namespace ?? ''}". No machine is made or replaced until there is.`,
});

const replacementHeld = (held: SetTroubles['held'], { breaker }: HeldMachine): Trouble => ({
  type: ReplacementHeld,
  status: 'True',
  reason: 'MachinesFellSilentTogether',
  message: `Not replaced: ${listed(held.map(({ machine }) => machine))}. ${breakerMessage(breaker)}`,
});

/** An event that belongs to a condition that begins or ends. */
export interface TroubleEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
}

/** The conditions with what is wrong now, and without what is over; the events of what begins and ends. */
export function withTroubles(
  set: MachineSet,
  stored: Conditions,
  conditions: Conditions,
  { lacksClass, held }: SetTroubles,
  now: Date,
): { readonly conditions: AnyCondition<MachineSetConditionType>[]; readonly events: readonly TroubleEvent[] } {
  const [first] = held;
  const troubles = [...(lacksClass ? [classNotFound(set)] : []), ...(first ? [replacementHeld(held, first)] : [])];
  let wanted = [...conditions];
  for (const type of [InvalidSpec, ReplacementHeld] as const) {
    const trouble = troubles.find((one) => one.type === type);
    wanted = trouble ? setSetCondition(wanted, trouble, now) : withoutCondition(wanted, type);
  }
  const events = troubles
    .filter(({ type }) => !findCondition(stored, type))
    .map(({ type, message }): TroubleEvent => ({ type: 'Warning', reason: type, message }));
  if (!first && findCondition(stored, ReplacementHeld)) {
    const message =
      'Failed machines are replaced again: not so many are silent any more, or an annotation asks for it.';
    events.push({ type: 'Normal', reason: 'ReplacementResumed', message });
  }
  return { conditions: wanted, events };
}
