import {
  accessSync,
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
import type { ProviderName } from './clouds/provider.ts';

/** The layout of the files in a data directory; a directory of another layout is refused. */
const FORMAT = 1;
const MARKER = 'mcm.json';

/** What `mcm up` keeps about itself next to the stores of its processes. */
export interface InstanceState {
  readonly format: number;
  /** The process that owns the directory, or owned it last. */
  readonly pid: number;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly apiPort?: number;
  /** The first fleet was made: it is never made again, whatever the user did to it. */
  readonly seeded?: boolean;
  /** Whose cloud it is; absent: the local provider's. */
  readonly provider?: ProviderName;
  /** The controllers of machine configs run too. */
  readonly machineConfig?: boolean;
  /** Of the config server; absent: machines learn their configuration only when they have joined. */
  readonly configPort?: number;
  /** Where the cloud was at the last start. */
  readonly cloudAddress?: string;
}

/** A data directory that this process alone may use, until `release`. */
export interface DataDir {
  readonly path: string;
  readonly state: InstanceState | undefined;
  file(...parts: string[]): string;
  write(state: InstanceState): void;
  release(): void;
}

/**
 * Opens or makes the directory and takes its lock.
 * @throws {UserError} unwritable, not one of ours, of another layout, or in use by a running instance; nothing in it is touched then.
 */
export function openDataDir(path: string): DataDir {
  const root = resolve(path);
  makeDirectory(root);
  const state = readState(root);
  if (!state && readdirSync(root).some((name) => !name.startsWith('lock.sqlite'))) {
    throw new UserError(`--data-dir ${root} holds files that are not of mcm: name an empty or a new directory`);
  }
  const lock = takeLock(root);
  if (!lock)
    throw new UserError(
      `another mcm${pidOf(state)} runs on ${root}: stop it with "mcm down", or name another --data-dir`,
    );
  return {
    path: root,
    state,
    file: (...parts) => join(root, ...parts),
    write: (next) => writeState(root, next),
    release: () => lock.close(),
  };
}

/**
 * The state of a directory without taking it; `running` tells whether a living process holds its lock.
 * @throws {UserError} it is no directory, or not one that this program reads
 */
export function inspectDataDir(path: string): { readonly state: InstanceState; readonly running: boolean } | undefined {
  const root = resolve(path);
  const there = statSync(root, { throwIfNoEntry: false });
  if (there?.isDirectory() === false) throw new UserError(`--data-dir ${root} is no folder: name that of an instance`);
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
    throw new UserError(`--data-dir ${root} cannot be used: ${reason(error)}; name another`);
  }
}

function readState(root: string): InstanceState | undefined {
  const file = join(root, MARKER);
  if (!existsSync(file)) return undefined;
  let state: unknown;
  try {
    state = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UserError(`${file} cannot be read (${reason(error)}): restore it or name another --data-dir`);
  }
  const format = (state as Partial<InstanceState> | null)?.format;
  if (format !== FORMAT)
    throw new UserError(
      `${root} is of layout ${String(format)}, this mcm knows layout ${FORMAT}: name another --data-dir`,
    );
  return state as InstanceState;
}

/** Written next to and renamed, so that a crash leaves the old or the new state and never half of one. */
function writeState(root: string, state: InstanceState): void {
  const file = join(root, MARKER);
  writeFileSync(`${file}.new`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** An exclusive SQLite transaction: the operating system drops it with the process, however that ends. */
function takeLock(root: string): DatabaseSync | undefined {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(root, 'lock.sqlite'));
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    if (/locked|busy/i.test(reason(error))) return undefined;
    throw new UserError(
      `${join(root, 'lock.sqlite')} is not a lock of mcm (${reason(error)}): name another --data-dir`,
    );
  }
}

/** Text of a file; undefined: there is none. */
export const readIfThere = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined;

const pidOf = (state: InstanceState | undefined): string => (state ? ` (process ${state.pid})` : '');
const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
