import { ConfigLabels } from '../constants/labels.ts';
import { WORKER_POOL } from '../constants/names.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { RenderError } from './error.ts';

/** Compares names by bytes, as the original does. */
export function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  if (!/[\ud800-\uffff]/.test(a + b)) return a < b ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Sorts objects by the bytes of their names. */
export const byName = <T extends { readonly metadata: { readonly name: string } }>(objects: readonly T[]): T[] =>
  objects.toSorted((a, b) => compareBytes(a.metadata.name, b.metadata.name));

/**
 * Sorts MachineConfigs for the merge: first the role worker, then custom roles, and within a role by name.
 * @throws RenderError for a MachineConfig without labels
 */
export function mergeOrder(configs: readonly MachineConfig[]): readonly MachineConfig[] {
  const unlabelled = configs.find(({ metadata }) => !metadata.labels);
  if (unlabelled) throw new RenderError(`cannot find label in MachineConfig ${unlabelled.metadata.name}`);
  const isWorker = ({ metadata }: MachineConfig) => metadata.labels?.[ConfigLabels.Role] === WORKER_POOL;
  return [...byName(configs.filter(isWorker)), ...byName(configs.filter((config) => !isWorker(config)))];
}
