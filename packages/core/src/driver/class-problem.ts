import type { MachineClass } from '@mcm/api';
import { MachineError } from './contract/errors.ts';
import { scrub } from './invoker/stages/scrub.ts';
import { placeOf } from './schemas/hint.ts';

/**
 * Reads the provider spec of a class. The function needs no Secret, cluster or cloud.
 * @throws MachineError that names each invalid field
 */
export type ReadProviderSpec = (machineClass: MachineClass) => unknown;

/**
 * Returns the reason why the provider spec of a class is invalid, with a hint, or undefined for a valid provider spec.
 */
export function providerSpecProblem(read: ReadProviderSpec, machineClass: MachineClass): string | undefined {
  try {
    read(machineClass);
    return undefined;
  } catch (thrown) {
    const error = MachineError.from(thrown);
    return scrub(error, {}, placeOf(error, machineClass)).message;
  }
}
