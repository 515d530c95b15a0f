import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import type { SilentProgram } from '../controllers/programs.ts';

/** The version of the layout. If a data directory has another version, `mcm up` refuses the directory. */
const FORMAT = 1;
const MARKER = 'mcm.json';
const OTHERS = 0o077;

export interface InstanceState {
  readonly format: number;
  readonly pid: number;
  readonly startedAt: string;
  readonly apiPort?: number;
  readonly seeded?: boolean;
  /** The provider of the instance. If `provider` is undefined, the provider is `local`. */
  readonly provider?: string;
  /** Whether `mcm up` also runs the machine-config-controller. */
  readonly machineConfig?: boolean;
  readonly configPort?: number | undefined;
  readonly cloudAddress?: string;
  /**
   * The addresses that the debug pages of both controllers had at the last start. After a restart, the ports of the
   * debug pages stay the same.
   */
  readonly controllers?: readonly string[];
  readonly silent?: readonly SilentProgram[] | undefined;
}

/** An open data directory. Until `release` is called, no other process can use the data directory. */
export interface DataDir {
  readonly path: string;
  readonly state: InstanceState | undefined;
  file(...parts: string[]): string;
  write(state: InstanceState): void;
  release(): void;
}

/**
 * Opens a data directory or creates it, and takes its lock.
 * @throws {UserError} if the directory is in use, is not writable, has another layout, or does not belong to this
 * program.
 */
export function openDataDir(path: string): DataDir {
  const root = resolve(path);
  makeDirectory(root);
  const state = readState(root);
  if (!state && readdirSync(root).some((name) => !name.startsWith('lock.sqlite'))) {
    throw new UserError(`--data-dir ${root} contains files of other programs: use an empty or a new directory`);
  }
  const lock = takeLock(root);
  if (!lock)
    throw new UserError(
      `another mcm${pidOf(state)} uses ${root}: stop that mcm with "mcm down", or use another --data-dir`,
    );
  // The directory contains kubeconfigs and tokens, so other users must have no access.
  if ((statSync(root).mode & OTHERS) !== 0) chmodSync(root, 0o700);
  return {
    path: root,
    state,
    file: (...parts) => join(root, ...parts),
    write: (next) => writeState(root, next),
    release: () => lock.close(),
  };
}

/**
 * Reads the state in a data directory without taking its lock. If a process holds the lock of a data directory,
 * `running` is true.
 * @throws {UserError} if the path is not a data directory of this program
 */
export function inspectDataDir(path: string): { readonly state: InstanceState; readonly running: boolean } | undefined {
  const root = resolve(path);
  const there = statSync(root, { throwIfNoEntry: false });
  if (there?.isDirectory() === false) throw new UserError(`--data-dir ${root} must be the directory of an instance`);
  const state = there && readState(root);
  if (!state) return undefined;
  const lock = takeLock(root);
  lock?.close();
  return { state, running: lock === undefined };
}

function makeDirectory(root: string): void {
  try {
    makeFolder(root, 0o700);
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new UserError(`cannot use --data-dir ${root}: ${reason(error)}; use another directory`);
  }
}

/** Reads the state in a data directory. */
export function readState(root: string): InstanceState | undefined {
  const file = join(root, MARKER);
  if (!existsSync(file)) return undefined;
  let state: unknown;
  try {
    state = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UserError(`${file} cannot be read (${reason(error)}): restore the file or use another --data-dir`);
  }
  const format = (state as Partial<InstanceState> | null)?.format;
  if (format !== FORMAT)
    throw new UserError(
      `${root} has layout ${String(format)}, but this version of mcm supports layout ${FORMAT}: use another --data-dir`,
    );
  return state as InstanceState;
}

/**
 * Writes the state file. If the process crashes during the write, the file contains either the old or the new state.
 */
function writeState(root: string, state: InstanceState): void {
  const file = join(root, MARKER);
  writeFileSync(`${file}.new`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/**
 * Takes the lock of a data directory, an exclusive SQLite transaction. The operating system releases the lock of a data
 * directory when the process ends.
 */
function takeLock(root: string): DatabaseSync | undefined {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(root, 'lock.sqlite'));
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    if (/locked|busy/i.test(reason(error))) return undefined;
    throw new UserError(`${join(root, 'lock.sqlite')} is not a lock of mcm (${reason(error)}): use another --data-dir`);
  }
}

/** Returns the text of a file. */
export const readIfThere = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined;

const pidOf = (state: InstanceState | undefined): string => (state ? ` (process ${state.pid})` : '');
const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
