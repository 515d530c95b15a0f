import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { CreateDriver, Inventory, World } from './stage/target.ts';

const driverModule = z.looseObject({
  createDriver: z.custom<CreateDriver>((value) => typeof value === 'function', 'must be a function'),
  openCloud: z
    .custom<() => World | Promise<World>>((value) => typeof value === 'function', 'must be a function')
    .optional(),
  inventory: z.custom<Inventory>((value) => typeof value === 'function', 'must be a function').optional(),
});

/** The exports of a driver module. */
export type DriverModule = z.infer<typeof driverModule>;

/**
 * Imports the module of a driver, and verifies its exports.
 * @param path relative to the working directory
 * @throws Error that names the file, and the missing or wrong export
 */
export async function loadDriverModule(path: string): Promise<DriverModule> {
  const module = driverModule.safeParse(await import(pathToFileURL(resolve(path)).href));
  if (!module.success) {
    const problems = module.error.issues.map((issue) => `the export ${issue.path.join('.')} ${issue.message}`);
    throw new Error(`${path}: ${problems.join('; ')}`);
  }
  return module.data;
}
