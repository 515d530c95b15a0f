import { MachineError, type ObservedCall, splitTagChanges, type TagChanges } from '@mcm/core/driver';
import { type Clock, sleep } from '@mcm/kube';
import type { Ec2 } from '../ec2/client.ts';
import { Refusal } from '../ec2/refusal.ts';
import { instanceIdOf } from '../spec/provider-id.ts';
import { fromCloud, fromLaunch, isAbsentInstance } from './errors.ts';
import { findById, type OnMachine } from './lookup.ts';

const LOOK_MS = 3_000;
const ENDED: readonly string[] = ['shutting-down', 'terminated'];

export interface Change {
  readonly ec2: Ec2;
  readonly request: OnMachine;
  readonly clock: Clock;
  readonly timed: ObservedCall;
}

/**
 * Stops or hibernates an instance. EC2 can hibernate only instances that were launched with the option for hibernation.
 * @throws MachineError
 */
export async function stopInstance(change: Change, hibernate: boolean): Promise<void> {
  if (hibernate && change.request.spec.hibernationOptions?.configured !== true)
    throw new MachineError(
      'InvalidArgument',
      'EC2 cannot hibernate the VM: set providerSpec.hibernationOptions.configured of the MachineClass to true, or use the state Stopped',
    );
  await reach(change, 'stopped', 'instance_stop', (id, signal) => change.ec2.stop(id, hibernate, signal));
}

/** @throws MachineError `ResourceExhausted`, `NotFound` */
export const startInstance = (change: Change): Promise<void> =>
  reach(change, 'running', 'instance_start', (id, signal) => change.ec2.start(id, signal));

/**
 * Repeats the request until EC2 accepts it, and waits for the requested power state. EC2 refuses a change while an
 * earlier change is in progress.
 */
async function reach(
  { ec2, request, clock, timed }: Change,
  wanted: 'stopped' | 'running',
  service: string,
  send: (id: string, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { machine, signal } = request;
  const id = instanceIdOf(machine.spec.providerID ?? '');
  let accepted = false;
  try {
    for (;;) {
      accepted ||= await timed(service, () => send(id, signal)).then(
        () => true,
        (thrown: unknown) => {
          if (thrown instanceof Refusal && thrown.code === 'IncorrectInstanceState') return false;
          throw thrown;
        },
      );
      const state = (await timed('instance_get_by_id', () => findById(ec2, id, signal)))?.State?.Name;
      if (state === undefined || ENDED.includes(state)) throw absent();
      if (accepted && state === wanted) return;
      await sleep(clock, LOOK_MS, signal);
    }
  } catch (thrown) {
    throw isAbsentInstance(thrown) ? absent() : fromLaunch(thrown, signal);
  }
}

/**
 * Sets and removes tags of an instance. EC2 changes only the tags in the request, and accepts repeated requests.
 * @throws MachineError
 */
export async function changeTags({ ec2, request, timed }: Change, changes: TagChanges): Promise<void> {
  const { machine, signal } = request;
  const id = instanceIdOf(machine.spec.providerID ?? '');
  const { set, remove } = splitTagChanges(changes);
  try {
    if (Object.keys(set).length > 0) await timed('instance_create_tags', () => ec2.createTags(id, set, signal));
    if (remove.length > 0) await timed('instance_delete_tags', () => ec2.deleteTags(id, remove, signal));
  } catch (thrown) {
    if (!isAbsentInstance(thrown)) throw fromCloud(thrown, signal);
  }
}

const absent = (): MachineError =>
  new MachineError('NotFound', 'AWS plugin is returning no VM instances backing this machine object');
