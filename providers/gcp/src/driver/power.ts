import type { MachineError } from '@mcm/core/driver';
import { type Clock, sleep } from '@mcm/kube';
import type { Gce, Operation, PowerVerb } from '../gce/client.ts';
import { Refusal } from '../gce/refusal.ts';

const LOOK_MS = 3_000;

export interface Subject {
  readonly gce: Gce;
  readonly project: string;
  readonly zone: string;
  readonly name: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly wait: (operation: Operation) => Promise<void>;
  readonly absent: () => MachineError;
}

/** The key is the current state of an instance. The request moves the instance toward the wanted state. */
type Verbs = Readonly<Record<string, PowerVerb | 'done'>>;

const STOP: Verbs = { RUNNING: 'stop', TERMINATED: 'done', SUSPENDED: 'done' };
const SUSPEND: Verbs = { RUNNING: 'suspend', TERMINATED: 'done', SUSPENDED: 'done' };
const START: Verbs = { RUNNING: 'done', TERMINATED: 'start', SUSPENDED: 'resume' };

/** Stops or suspends an instance. A suspended instance keeps its memory. */
export const stopInstance = (subject: Subject, suspend: boolean): Promise<void> =>
  reach(subject, suspend ? SUSPEND : STOP);

export const startInstance = (subject: Subject): Promise<void> => reach(subject, START);

async function reach(subject: Subject, verbs: Verbs): Promise<void> {
  const { gce, project, zone, name, clock, signal, wait, absent } = subject;
  try {
    for (;;) {
      const { status = '' } = await gce.get(project, zone, name, signal);
      const verb = verbs[status];
      if (verb === 'done') return;
      if (verb === undefined) await sleep(clock, LOOK_MS, signal);
      else await wait(await gce.power(verb, project, zone, name, signal));
    }
  } catch (thrown) {
    throw thrown instanceof Refusal && thrown.absent ? absent() : thrown;
  }
}
