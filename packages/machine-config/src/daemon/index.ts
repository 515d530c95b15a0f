export { DaemonPaths } from '../config/daemon-paths.ts';
export { type ConfigDiff, diffConfigs } from '../config/diff.ts';
export { NodeDaemon, type NodeDaemonOptions } from './daemon.ts';
export {
  type DaemonStep,
  type DaemonView,
  DRAIN_TIMEOUT_MS,
  decide,
  UNCORDON_TIMEOUT_MS,
  type Verdict,
} from './decide.ts';
export {
  type Entry,
  type NodeDisk,
  readText,
  textEntry,
  type WantedDirectory,
  type WantedFile,
  type WantedLink,
} from './disk/disk.ts';
export type { DaemonHost } from './disk/host.ts';
export type { Journal, UpdatePhase } from './disk/journal.ts';
export { kernelArgumentOperations, nextCommandLine, splitArguments } from './disk/kernel-arguments.ts';
export { type DiskImage, MemoryDisk } from './disk/memory-disk.ts';
export { fileOf, type WantedDisk, wantedDisk, wantedPaths } from './disk/wanted.ts';
export { findDrift } from './drift.ts';
export { DaemonDriver, type DaemonLife } from './drive.ts';
export { lookUpFirstConfig } from './first-config.ts';
export {
  DEFAULT_POLICY,
  type DisruptionPolicy,
  disruptionPolicySchema,
  needsDrain,
  type PostAction,
  postActions,
  servicesOf,
  withUserPolicy,
} from './policy/disruption.ts';
export { isSafeRegistriesChange } from './policy/registries.ts';
