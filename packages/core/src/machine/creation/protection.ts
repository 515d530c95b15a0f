import { Annotations, Finalizers, type Machine, type MachineClass, TRUE_LOWER } from '@mcm/api';
import type { Secret } from '@mcm/kube';
import { secretKeysOf } from '../../driver/schemas/credentials.ts';
import type { MachineMemory } from '../model/memory.ts';
import type { MachineObservation } from '../model/observation.ts';
import { act, type Plan, wait } from '../model/plan.ts';
import { withOperation } from '../model/status.ts';
import { wasNeverCreated } from './never-created.ts';

/** If the API server refuses the finalizers, mcm creates VMs without the finalizers after this time. */
const WAIT_MS = 2_000;

/**
 * Returns true if no controller has recorded an action for the machine. Before the first `create` call, the class and
 * its Secrets have mcm's finalizers, or the status contains an operation.
 */
const isUntouched = ({ spec, status }: Machine): boolean =>
  !spec.providerID && !status?.currentStatus?.phase && !status?.lastOperation?.state;

interface Inputs {
  readonly machineClass: MachineClass | undefined;
  readonly secretOf: (key: string) => Secret | undefined;
  readonly unreadable: boolean;
}

/**
 * For a machine that no controller has handled, returns whether its class and Secrets exist and have the finalizers of
 * mcm.
 */
export function observeProtection(
  machine: Machine,
  memory: MachineMemory,
  { machineClass, secretOf, unreadable }: Inputs,
  now: Date,
): Pick<MachineObservation, 'unprotectedSince' | 'inputsMissing'> {
  if (!isUntouched(machine) || !machine.spec.class.name || unreadable) return {};
  const secrets = machineClass ? secretKeysOf(machineClass).map(secretOf) : [];
  if (!machineClass || secrets.includes(undefined)) return memory.inputsRead ? {} : { inputsMissing: true };
  memory.inputsRead = false;
  const isProtected =
    machineClass.metadata.finalizers?.includes(Finalizers.MachineControllerManager) &&
    secrets.every((secret) => secret?.metadata.finalizers?.includes(Finalizers.Secret));
  if (isProtected) return {};
  memory.unprotectedSince ??= now;
  return { unprotectedSince: memory.unprotectedSince };
}

/**
 * Delays the first `create` call until the class and its Secrets have the finalizers of mcm. A class without a
 * finalizer could be deleted with its namespace, and mcm could not delete the VM.
 */
export function planProtection(o: MachineObservation, now: Date): Plan | undefined {
  if (!o.unprotectedSince || o.calls.createSent) return undefined;
  const until = new Date(o.unprotectedSince.getTime() + WAIT_MS);
  if (now < until) return wait('the class or one of its Secrets has no finalizer of mcm yet', until);
  const operation = {
    description: 'Creating machine on cloud provider',
    state: 'Processing',
    type: 'Create',
  } as const;
  const status = withOperation(o.machine.status, operation, now);
  return act('the class or one of its Secrets has no finalizer of mcm', { do: 'writeStatus', status });
}

/**
 * Adds the annotation that a machine has no VM. Two conditions apply: its class or a Secret does not exist, and no
 * controller has handled the machine. A finalizer protects the class and the Secrets before the first `create` call, so
 * a missing class proves that there is no VM. After a restore of the API server, a missing class proves nothing.
 */
export function planUncreated(o: MachineObservation): Plan | undefined {
  const { inputsMissing, doubt, calls } = o;
  if (!inputsMissing || doubt || calls.running || calls.createSent || wasNeverCreated(o)) return undefined;
  const annotations = { [Annotations.NoCreateCall]: TRUE_LOWER };
  return act('the class or one of its Secrets does not exist, and the machine has no status', {
    do: 'noteUncreated',
    annotations,
  });
}
