import type { z } from 'zod';
import type { Driver } from './driver.ts';

/** A driver with the schemas that its requests are parsed by. */
export interface DriverDefinition<Spec, Credentials> extends Driver<Spec, Credentials> {
  /** Schema of `MachineClass.providerSpec`. */
  readonly providerSpec: z.ZodType<Spec>;
  /** Schema of the merged, decoded data of `secretRef` and `credentialsSecretRef`, `userData` included. */
  readonly credentialsSchema: z.ZodType<Credentials>;
}

/** Declares a driver: its types follow from its schemas. */
export const defineDriver = <Spec, Credentials>(
  definition: DriverDefinition<Spec, Credentials>,
): DriverDefinition<Spec, Credentials> => definition;
