import { type InstanceEvidence, wholeLines } from '@mcm/core/driver';
import type { Gce, Instance } from '../gce/client.ts';

const CONSOLE_BYTES = 65_536;

interface Place {
  readonly gce: Gce;
  readonly project: string;
  readonly zone: string;
}

/**
 * Returns the state of an instance, and its console output if Google allows the request.
 * @throws the error of the client if the state cannot be read
 */
export async function reportEvidence(
  { gce, project, zone }: Place,
  name: string,
  signal: AbortSignal,
): Promise<InstanceEvidence> {
  const state = describe(zone, name, await gce.get(project, zone, name, signal));
  try {
    const { contents, start } = await gce.serialPort(project, zone, name, CONSOLE_BYTES, signal);
    return { state, console: wholeLines(contents, { max: CONSOLE_BYTES, cut: start > 0 }) };
  } catch (thrown) {
    signal.throwIfAborted();
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return { state: `${state}; mcm could not read its serial port output: ${why}` };
  }
}

function describe(
  zone: string,
  name: string,
  { status = 'in no known state', statusMessage, creationTimestamp, lastStartTimestamp }: Instance,
): string {
  const times = [
    ...(creationTimestamp ? [`created at ${creationTimestamp},`] : []),
    ...(lastStartTimestamp ? [`started at ${lastStartTimestamp},`] : []),
  ].join(' ');
  return `instance ${name} of zone ${zone}${times === '' ? '' : `, ${times}`} is ${status}${statusMessage ? ` (${statusMessage})` : ''}`;
}
