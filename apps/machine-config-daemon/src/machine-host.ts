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

/** Runs a program to its end. @throws Error with what it wrote to stderr */
export type RunProgram = (argv: readonly string[]) => Promise<void>;

/** What of a machine a daemon reaches. */
export interface MachineHostOptions {
  /** Where the node's root directory is. */
  readonly root: string;
  readonly disk: NodeDisk;
  readonly run: RunProgram;
  /** The file that holds the id of this boot, as this process sees it. */
  readonly bootIdFile: string;
  readonly readFile: (path: string) => Promise<string>;
  /** What reboots the machine; empty: nothing does, somebody else will. */
  readonly reboot: readonly string[];
}

const run = promisify(execFile);
/** A service that does not come back in this time is told as a failure. */
const PROGRAM_LIMIT_MS = 120_000;

/** Runs programs in the node's root directory, with its own systemd. */
export const programsIn =
  (root: string): RunProgram =>
  async ([program = '', ...args]) => {
    const argv = root === '/' ? [program, ...args] : ['chroot', root, program, ...args];
    const [first = '', ...rest] = argv;
    await run(first, rest, { timeout: PROGRAM_LIMIT_MS });
  };

/** A Linux machine below a root directory. */
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
      // The machine takes this process with it; until then nothing else is to be done.
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

/** Services of the built-in policy: a machine with another container runtime, or another system, has not all of them. */
const OPTIONAL_SERVICES: ReadonlySet<string> = new Set(servicesOf(DEFAULT_POLICY));

async function onService(program: RunProgram, verb: 'reload' | 'restart', service: string): Promise<void> {
  if (OPTIONAL_SERVICES.has(service) && !(await isInstalled(program, service))) return;
  await program(['systemctl', verb, service]);
}

/** `systemctl cat` exits with a code for a unit without a file. Any other failure is a failure of the machine. */
async function isInstalled(program: RunProgram, service: string): Promise<boolean> {
  try {
    await program(['systemctl', 'cat', service]);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'number') return false;
    throw error;
  }
}

/** Images, kernels and packages are the image's of the machine: a pool that replaces machines brings them. */
function unsupported(diff: ConfigDiff): string | undefined {
  const cannot = [
    ...(diff.osImage ? ['osImageURL'] : []),
    ...(diff.kernelType ? ['kernelType'] : []),
    ...(diff.extensions ? ['extensions'] : []),
    ...(diff.fips ? ['fips'] : []),
  ];
  if (cannot.length === 0) return undefined;
  return `this daemon cannot change ${cannot.join(', ')} of a running machine: use an image that has it, and updateStrategy Replace`;
}
