import type { MachineClass } from '@mcm/api';
import { alternativeProblems } from '@mcm/core/driver';
import { alternatives } from './driver/alternatives.ts';
import { readSpec } from './driver/decode.ts';

/** Reads provider specs. The class is separate from the driver, so that its users do not load the SDK of the cloud. */
export { readSpec } from './driver/decode.ts';
export { gcpFlags } from './driver/settings.ts';

/**
 * The problems of the alternatives of a class or of a deployment, one sentence each. @throws MachineError if the class is
 * invalid
 */
export const readAlternatives = (machineClass: MachineClass, text: string | undefined): readonly string[] =>
  alternativeProblems(alternatives, text, readSpec(machineClass));
