import type { MachineClass } from '@mcm/api';
import { alternativeProblems } from '@mcm/core/driver';
import { alternatives } from './driver/alternatives.ts';
import { readSpec } from './driver/decode.ts';

/** This module checks classes without loading the SDK of the cloud. */
export { readSpec } from './driver/decode.ts';
export { awsFlags } from './ec2/settings.ts';

/**
 * Returns one sentence for each problem with the alternatives of a class.
 * @throws MachineError if the class is invalid
 */
export const readAlternatives = (machineClass: MachineClass, text: string | undefined): readonly string[] =>
  alternativeProblems(alternatives, text, readSpec(machineClass));
