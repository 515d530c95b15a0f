import type { MachineClass } from '@mcm/api';
import type { z } from 'zod';
import type { DriverDefinition } from './define-driver.ts';
import { foldGoJson } from './go-json.ts';

/** The keys that an object's schema declares; undefined for a schema of something else, which may read any key. */
export function declaredKeys(schema: z.ZodType): ReadonlySet<string> | undefined {
  const { shape } = schema.def as { readonly shape?: Readonly<Record<string, unknown>> };
  return shape && new Set(Object.keys(shape));
}

/**
 * Fields of a class's provider spec that its driver does not know, one sentence each with the nearest name that it does.
 * They are no error: another version of the driver may know them, and the original takes them in silence.
 */
export function unknownFields<Spec, Credentials>(
  driver: Pick<DriverDefinition<Spec, Credentials>, 'name' | 'providerSpec'>,
  machineClass: MachineClass,
): readonly string[] {
  return foldGoJson(driver.providerSpec, machineClass.providerSpec).unknown.map(({ path, nearest }) => {
    const hint = nearest === undefined ? 'remove it' : `did you mean ${nearest}?`;
    return `providerSpec${path}: is no field that provider ${driver.name} knows, and has no effect; ${hint}`;
  });
}
