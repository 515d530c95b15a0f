import { setFlagsFromString } from 'node:v8';
import type { Random } from '../base/random.ts';
import { type Clock, realClock } from '../clock/clock.ts';
import { type MemoryUse, watchMemory } from './health/memory.ts';

/** What a binary takes from its process. Tests give their own. */
export interface Host {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  /** Unique to this process: the identity in the leader election. */
  readonly identity: string;
  print(line: string): void;
  complain(line: string): void;
  /** Calls back for each request to end: a signal, or a parent that went away. */
  onStopRequest(callback: (reason: string) => void): void;
  /** Calls back for an error that nothing caught: the process must end. */
  onCrash?(callback: (error: unknown) => void): void;
  /** Calls back after each collection of the whole heap, until the returned function is called. */
  onCollection?(callback: (use: MemoryUse) => void): () => void;
  /** Ends the process at once. */
  exit(code: number): void;
}

/**
 * Keeps V8's young generation as small as it starts. While a big list comes in, V8 would let it grow to 48 MB and never
 * take it back, for no gain in time: with 20,000 pods of 7 kB this is 160 MB of resident memory against 215 MB.
 */
const keepYoungGenerationSmall = (): void => setFlagsFromString('--semi-space-growth-factor=1');

/**
 * Has V8's first compiler work on the main thread. In the background it may wait for the main thread to collect garbage, while that one, having
 * begun to exit, waits for the background: a process that was done hung for ever, once in thousands of ends (Node 24.21).
 */
const compileInFront = (): void => setFlagsFromString('--no-concurrent-sparkplug');

/** The real process. To be called from `main` only. */
export function processHost(hostname: string): Host {
  keepYoungGenerationSmall();
  compileInFront();
  return {
    argv: process.argv.slice(2),
    env: process.env,
    clock: realClock,
    random: { next: Math.random },
    identity: `${hostname}_${crypto.randomUUID()}`,
    print: (line) => process.stdout.write(`${line}\n`),
    complain: (line) => process.stderr.write(`${line}\n`),
    onStopRequest(callback) {
      process.on('SIGTERM', () => callback('SIGTERM'));
      process.on('SIGINT', () => callback('SIGINT'));
      // A parent that holds an IPC channel and dies takes its children along, where no signal would reach them.
      if (process.connected) process.on('disconnect', () => callback('the parent process went away'));
    },
    onCrash(callback) {
      process.on('uncaughtException', callback); // Rejections that nobody handles come here too.
    },
    onCollection: watchMemory,
    exit: (code) => process.exit(code),
  };
}
