import type { MachineClass } from '@mcm/api';
import { MachineError } from './contract/errors.ts';
import { scrub } from './invoker/stages/scrub.ts';
import { placeOf } from './schemas/hint.ts';

/**
 * Reads the provider spec of a class in the same way as a creation, without a Secret, a cluster or a cloud.
 * @throws MachineError that names each invalid field
 */
export type ReadProviderSpec = (machineClass: MachineClass) => unknown;

/**
 * Returns why no VM can be created from the provider spec, as in the event `InvalidClass`. `providerSpecProblem`
 * returns undefined if the provider spec is valid.
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
