export { NodeDaemon, type NodeDaemonOptions } from './daemon.ts';
export {
  type DaemonStep,
  type DaemonView,
  DRAIN_TIMEOUT_MS,
  decide,
  UNCORDON_TIMEOUT_MS,
  type Verdict,
} from './decide.ts';
export { type ConfigDiff, diffConfigs } from './diff.ts';
export {
  type Entry,
  type NodeDisk,
  readText,
  textEntry,
  type WantedDirectory,
  type WantedFile,
  type WantedLink,
} from './disk.ts';
export {
  DEFAULT_POLICY,
  type DisruptionPolicy,
  disruptionPolicySchema,
  needsDrain,
  type PostAction,
  postActions,
  servicesOf,
  withUserPolicy,
} from './disruption.ts';
export { findDrift } from './drift.ts';
export { DaemonDriver, type DaemonLife } from './drive.ts';
export { lookUpFirstConfig } from './first-config.ts';
export type { DaemonHost } from './host.ts';
export type { Journal, UpdatePhase } from './journal.ts';
export { kernelArgumentOperations, nextCommandLine, splitArguments } from './kernel-arguments.ts';
export { type DiskImage, MemoryDisk } from './memory-disk.ts';
export { DaemonPaths } from './paths.ts';
export { isSafeRegistriesChange } from './registries.ts';
export { fileOf, type WantedDisk, wantedDisk, wantedPaths } from './wanted.ts';
