import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Stack, startStack } from '../../harness/stack.ts';
import type { Decision } from './deletion-times.ts';
import { PodLoad } from './pod-load.ts';

export interface Check {
  readonly name: string;
  readonly passed: boolean;
}

export interface AutoscalerRun {
  readonly stack: Stack;
  readonly load: PodLoad;
  ended(): boolean;
}

/** A cluster autoscaler and how it is tested. */
export interface Autoscaler {
  readonly path: string;
  readonly decision: Decision;
  /** Connects the manager and the autoscaler. @param folder An empty folder for the files of the connection. */
  connect(folder: string): Promise<Connection>;
}

interface Connection {
  readonly managerFlags: readonly string[];
  readonly flags: readonly string[];
  env(stack: Stack): Readonly<Record<string, string>>;
}

interface Steps {
  prepare(stack: Stack): Promise<void>;
  check(run: AutoscalerRun): Promise<Check[]>;
}

/** The flags set short waits, so a scale-in takes only seconds. */
const FLAGS = [
  '--scan-interval=1s',
  '--scale-down-delay-after-add=1s',
  '--scale-down-unneeded-time=1s',
  '--scale-down-delay-after-delete=0s',
  '--leader-elect=false',
];

/**
 * Runs a cluster autoscaler with the real programs of mcm.
 * @param dir The folder that contains the programs.
 */
export async function withAutoscaler(dir: string, autoscaler: Autoscaler, { prepare, check }: Steps): Promise<Check[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mcm autoscaler '));
  const { managerFlags, flags, env } = await autoscaler.connect(folder);
  const stack = await startStack({ managerFlags });
  let child: ChildProcess | undefined;
  try {
    await stack.makeClass('small');
    await prepare(stack);
    const load = new PodLoad(stack.client);
    await load.create();
    const started = spawn(join(dir, autoscaler.path), [...FLAGS, ...flags, `--kubeconfig=${stack.kubeconfig}`], {
      env: { ...process.env, ...env(stack) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    started.stderr.pipe(createWriteStream(join(folder, 'autoscaler.log')));
    child = started;
    return await check({ stack, load, ended: () => started.exitCode !== null });
  } finally {
    child?.kill('SIGKILL');
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
