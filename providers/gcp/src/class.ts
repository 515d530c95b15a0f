import type { MachineClass } from '@mcm/api';
import { alternativeProblems } from '@mcm/core/driver';
import { alternatives } from './driver/alternatives.ts';
import { readSpec } from './driver/decode.ts';

/** This module checks classes without loading the SDK of the cloud. */
export { readSpec } from './driver/decode.ts';
export { gcpFlags } from './driver/settings.ts';

/**
 * Returns the problems of the alternatives of a class, one sentence for each problem.
 * @throws MachineError if the class is invalid
 */
export const readAlternatives = (machineClass: MachineClass, text: string | undefined): readonly string[] =>
  alternativeProblems(alternatives, text, readSpec(machineClass));
