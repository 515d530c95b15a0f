import { ConfigLabels } from '../constants/labels.ts';
import { WORKER_POOL } from '../constants/names.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { RenderError } from './error.ts';

/** Compares as the original sorts names: by bytes. */
export function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  // Below the surrogates, code units are in the order of the bytes.
  if (!/[\ud800-\uffff]/.test(a + b)) return a < b ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Sorts objects by name, bytewise and stably. */
export const byName = <T extends { readonly metadata: { readonly name: string } }>(objects: readonly T[]): T[] =>
  objects.toSorted((a, b) => compareBytes(a.metadata.name, b.metadata.name));

/**
 * The order in which MachineConfigs are merged: those of the role worker first, then all others, each by name. So every
 * MachineConfig of a custom role beats every one of the workers, whatever the names.
 * @throws RenderError for one without labels
 */
export function mergeOrder(configs: readonly MachineConfig[]): readonly MachineConfig[] {
  const unlabelled = configs.find(({ metadata }) => !metadata.labels);
  if (unlabelled) throw new RenderError(`cannot find label in MachineConfig ${unlabelled.metadata.name}`);
  const isWorker = ({ metadata }: MachineConfig) => metadata.labels?.[ConfigLabels.Role] === WORKER_POOL;
  return [...byName(configs.filter(isWorker)), ...byName(configs.filter((config) => !isWorker(config)))];
}
