import { type InstanceEvidence, type ObservedCall, wholeLines } from '@mcm/core/driver';
import type { Ec2, Instance } from '../ec2/client.ts';
import { Refusal } from '../ec2/refusal.ts';
import { instanceIdOf } from '../spec/provider-id.ts';
import { isAbsentInstance } from './errors.ts';
import type { OnMachine } from './lookup.ts';

/** The maximum size of a console output. EC2 keeps only the newest 64 KiB. */
const CONSOLE_BYTES = 65_536;

/**
 * Returns the state of an instance, and its console output if EC2 allows the request.
 * @throws the error of EC2 if the state cannot be read
 */
export async function reportEvidence(
  ec2: Ec2,
  { machine, signal }: OnMachine,
  timed: ObservedCall,
): Promise<InstanceEvidence> {
  const { providerID } = machine.spec;
  if (!providerID) return { state: 'the machine has no VM' };
  const id = instanceIdOf(providerID);
  const instance = await timed('instance_get_by_id', () => find(ec2, id, signal));
  const state = instance ? describe(id, instance) : `instance ${id} does not exist`;
  if (!instance) return { state };
  try {
    const text = await timed('instance_get_console_output', () => consoleOf(ec2, id, signal));
    const cut = Buffer.byteLength(text) >= CONSOLE_BYTES - 1;
    return { state, console: wholeLines(text, { cut }) };
  } catch (thrown) {
    signal.throwIfAborted();
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return { state: `${state}; mcm could not read its console output: ${why}` };
  }
}

/**
 * Returns an instance, or undefined if the instance does not exist. EC2 removes an instance one hour after its
 * termination.
 */
async function find(ec2: Ec2, id: string, signal: AbortSignal): Promise<Instance | undefined> {
  try {
    return (await ec2.instances({ InstanceIds: [id] }, signal))[0];
  } catch (thrown) {
    if (isAbsentInstance(thrown)) return undefined;
    throw thrown;
  }
}

function describe(id: string, { State, StateReason, StateTransitionReason, LaunchTime, Placement }: Instance): string {
  const reason = StateReason?.Message ?? StateTransitionReason;
  const because = reason ? ` (${reason})` : '';
  const made = LaunchTime ? `, launched at ${LaunchTime.toISOString()},` : '';
  return `instance ${id} of zone ${Placement?.AvailabilityZone ?? '?'}${made} is ${State?.Name ?? 'in no known state'}${because}`;
}

/**
 * Returns the console output of an instance. For instances without the Nitro system, EC2 has only the output of the
 * last start or stop.
 */
async function consoleOf(ec2: Ec2, id: string, signal: AbortSignal): Promise<string> {
  try {
    return await ec2.console(id, true, signal);
  } catch (thrown) {
    if (!(thrown instanceof Refusal && thrown.code === 'UnsupportedOperation')) throw thrown;
    return ec2.console(id, false, signal);
  }
}
