import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { promisify } from 'node:util';
import {
  type ConfigDiff,
  type DaemonHost,
  DEFAULT_POLICY,
  type NodeDisk,
  type PostAction,
  servicesOf,
} from '@mcm/machine-config';
import { pathInRoot } from './in-root.ts';
import { readCommandLine, writeCommandLine } from './kernel-command-line.ts';

/**
 * Runs a program and waits for its end.
 * @throws Error with the stderr of the program
 */
export type RunProgram = (argv: readonly string[]) => Promise<void>;

/** The paths and commands with which the daemon accesses its machine. */
export interface MachineHostOptions {
  /** The path of the node's root directory in the file system of this process. */
  readonly root: string;
  readonly disk: NodeDisk;
  readonly run: RunProgram;
  /** The path of the file with the ID of the current boot, in the file system of this process. */
  readonly bootIdFile: string;
  readonly readFile: (path: string) => Promise<string>;
  /** If `reboot` is empty, a user must reboot the machine. */
  readonly reboot: readonly string[];
}

const run = promisify(execFile);
const PROGRAM_LIMIT_MS = 120_000;

/**
 * Returns a function that runs programs in the root directory of the node. The programs use the systemd of the node.
 */
export const programsIn =
  (root: string): RunProgram =>
  async ([program = '', ...args]) => {
    const argv = root === '/' ? [program, ...args] : ['chroot', root, program, ...args];
    const [first = '', ...rest] = argv;
    await run(first, rest, { timeout: PROGRAM_LIMIT_MS });
  };

/** Returns the operations on a Linux machine whose root directory is `root`. */
export function machineHost({
  root,
  disk,
  run: program,
  bootIdFile,
  readFile,
  reboot,
}: MachineHostOptions): DaemonHost {
  const list = async (directory: string): Promise<readonly string[]> => {
    const names = await readdir(await pathInRoot(root, directory)).catch(() => []);
    return names
      .filter((name) => name.endsWith('.conf'))
      .toSorted()
      .map((name) => posix.join(directory, name));
  };
  return {
    disk,
    bootId: async () => (await readFile(bootIdFile)).trim(),
    commandLine: () => readCommandLine(disk, list),
    setCommandLine: (line) => writeCommandLine(disk, list, line),
    act: (action) => act(program, action),
    reboot: async () => {
      if (reboot.length > 0) await program(reboot);
      // The reboot ends the process, so the daemon waits here and does nothing else.
      await new Promise(() => undefined);
    },
    unsupported,
  };
}

async function act(program: RunProgram, action: PostAction): Promise<void> {
  if (action.type === 'DaemonReload') return program(['systemctl', 'daemon-reload']);
  if (action.type === 'Reload') return onService(program, 'reload', action.reload.serviceName);
  if (action.type === 'Restart') return onService(program, 'restart', action.restart.serviceName);
}

const OPTIONAL_SERVICES: ReadonlySet<string> = new Set(servicesOf(DEFAULT_POLICY));

async function onService(program: RunProgram, verb: 'reload' | 'restart', service: string): Promise<void> {
  if (OPTIONAL_SERVICES.has(service) && !(await isInstalled(program, service))) return;
  await program(['systemctl', verb, service]);
}

/**
 * Returns true if a service is installed on the machine. If the unit file is missing, `systemctl cat` has a special
 * exit code.
 */
async function isInstalled(program: RunProgram, service: string): Promise<boolean> {
  try {
    await program(['systemctl', 'cat', service]);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'number') return false;
    throw error;
  }
}

/**
 * Returns the part of a configuration change that the daemon cannot apply. The image contains the operating system, the
 * kernel and packages, so a change of these parts requires new machines.
 */
function unsupported(diff: ConfigDiff): string | undefined {
  const cannot = [
    ...(diff.osImage ? ['osImageURL'] : []),
    ...(diff.kernelType ? ['kernelType'] : []),
    ...(diff.extensions ? ['extensions'] : []),
    ...(diff.fips ? ['fips'] : []),
  ];
  if (cannot.length === 0) return undefined;
  return `the daemon cannot change ${cannot.join(', ')} of a running machine: use an image that contains the change, and set updateStrategy Replace`;
}
