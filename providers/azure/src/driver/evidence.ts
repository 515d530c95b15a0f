import { type InstanceEvidence, wholeLines } from '@mcm/core/driver';
import { z } from 'zod';
import type { Session } from './session.ts';

const status = z.looseObject({
  code: z.string().nullish(),
  displayStatus: z.string().nullish(),
  message: z.string().nullish(),
  time: z.string().nullish(),
});
const statuses = z.array(status).nullish();

const instanceView = z.looseObject({ statuses, vmAgent: z.looseObject({ statuses }).nullish() });
const diagnostics = z.looseObject({ serialConsoleLogBlobUri: z.string().nullish() });

/** What Azure can tell of a VM. A console that is refused, or not kept, leaves the state. @throws what `Arm` throws for the state */
export async function tellEvidence(session: Session, name: string, signal: AbortSignal): Promise<InstanceEvidence> {
  const view = instanceView.parse((await session.arm.call(session.instanceView(name), signal)).body);
  const state = describe(name, view);
  try {
    const answer = await session.arm.call(session.bootDiagnostics(name), signal);
    const { serialConsoleLogBlobUri: address } = diagnostics.parse(answer.body);
    if (!address) return { state: `${state}; Azure keeps no console of it` };
    return { state, console: wholeLines(await session.arm.read(address, signal)) };
  } catch (thrown) {
    signal.throwIfAborted();
    return { state: `${state}; its console could not be read: ${withoutAddress(thrown)}` };
  }
}

/** The console's address is its own credential: whoever has it reads the log. */
const withoutAddress = (thrown: unknown): string =>
  (thrown instanceof Error ? thrown.message : String(thrown)).replaceAll(/(https:\/\/[^\s?]+)\?\S+/g, '$1');

function describe(name: string, { statuses: own, vmAgent }: z.infer<typeof instanceView>): string {
  const parts = [...told('', own), ...told('VM agent: ', vmAgent?.statuses)];
  return `virtual machine ${name}: ${parts.join('; ') || 'Azure tells no state'}`;
}

const told = (what: string, list: z.infer<typeof statuses>): string[] =>
  (list ?? []).map(({ code, displayStatus, message, time }) => {
    const since = time ? ` since ${time}` : '';
    return `${what}${displayStatus ?? code ?? 'no state'}${since}${message ? ` (${message})` : ''}`;
  });
