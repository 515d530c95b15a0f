import type { MachineType } from '../../machine/model.ts';
import { CloudError } from '../context/errors.ts';

const CATALOG: Readonly<Record<string, Omit<MachineType, 'name'>>> = {
  local: { cpus: 4, memoryGi: 8, gpus: 0 },
  small: { cpus: 2, memoryGi: 4, gpus: 0 },
  medium: { cpus: 4, memoryGi: 16, gpus: 0 },
  large: { cpus: 8, memoryGi: 32, gpus: 0 },
  gpu: { cpus: 8, memoryGi: 64, gpus: 1 },
};
const CUSTOM = /^custom-(\d{1,4})-(\d{1,5})$/;

export const DEFAULT_MACHINE_TYPE = 'local';
export const machineTypeNames: readonly string[] = Object.keys(CATALOG);

/**
 * Returns a machine type of the catalog, or the type `custom-<cpus>-<GiB>`.
 * @throws {CloudError} InvalidParameter with the valid values.
 */
export function machineType(name: string): MachineType {
  const known = Object.hasOwn(CATALOG, name) ? CATALOG[name] : undefined;
  if (known) return { name, ...known };
  const custom = CUSTOM.exec(name);
  const [cpus, memoryGi] = [Number(custom?.[1] ?? 0), Number(custom?.[2] ?? 0)];
  if (cpus > 0 && memoryGi > 0) return { name, cpus, memoryGi, gpus: 0 };
  throw new CloudError(
    'InvalidParameter',
    `machineType: ${JSON.stringify(name)} is not one of ${machineTypeNames.join(', ')} or custom-<cpus>-<GiB>.`,
  );
}
