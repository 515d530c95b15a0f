import type { MachineClass } from '@mcm/api';
import type { z } from 'zod';
import type { DriverDefinition } from './define-driver.ts';
import { foldGoJson } from './go-json.ts';

/**
 * Returns the keys that an object schema declares. Undefined for any other schema, because such a schema may read any key.
 */
export function declaredKeys(schema: z.ZodType): ReadonlySet<string> | undefined {
  const { shape } = schema.def as { readonly shape?: Readonly<Record<string, unknown>> };
  return shape && new Set(Object.keys(shape));
}

/**
 * Returns the fields of a provider spec that the driver does not know. Each sentence contains the most similar known name.
 * These fields are no errors, because another version of the driver may know them, and the original ignores them.
 */
export function unknownFields<Spec, Credentials>(
  driver: Pick<DriverDefinition<Spec, Credentials>, 'name' | 'providerSpec'>,
  machineClass: MachineClass,
): readonly string[] {
  return foldGoJson(driver.providerSpec, machineClass.providerSpec).unknown.map(({ path, nearest }) => {
    const hint = nearest === undefined ? 'remove it' : `did you mean ${nearest}?`;
    return `providerSpec${path}: is not a field of provider ${driver.name} and is ignored; ${hint}`;
  });
}
