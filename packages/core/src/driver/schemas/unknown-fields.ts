import type { MachineClass } from '@mcm/api';
import type { z } from 'zod';
import type { DriverDefinition } from './define-driver.ts';
import { foldGoJson } from './go-json.ts';

/** Returns the keys that a schema declares, or undefined for a schema that may accept any key. */
export function declaredKeys(schema: z.ZodType): ReadonlySet<string> | undefined {
  const { shape } = schema.def as { readonly shape?: Readonly<Record<string, unknown>> };
  return shape && new Set(Object.keys(shape));
}

/**
 * Returns one sentence for each field of a provider spec that the driver does not know. Another version of the driver
 * may know an unknown field, and the original ignores unknown fields.
 */
export function unknownFields<Spec, Credentials>(
  driver: Pick<DriverDefinition<Spec, Credentials>, 'name' | 'providerSpec'>,
  machineClass: MachineClass,
): readonly string[] {
  return foldGoJson(driver.providerSpec, machineClass.providerSpec).unknown.map(({ path, nearest }) => {
    const hint = nearest === undefined ? 'remove it' : `did you mean ${nearest}?`;
    return `providerSpec${path}: is not a field of provider ${driver.name}, so mcm ignores the field; ${hint}`;
  });
}
