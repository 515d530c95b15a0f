import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { counted } from '@mcm/api';
import { backoffMs, type Clock, FileSink, LossyWriter, type Sink } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import type { ProgramState } from '../screen/render.ts';

/** The command with which `mcm up` starts a program. */
export interface ProgramSpec {
  readonly name: string;
  readonly module: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** The environment variables of each program. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  // Limits the C library to two memory pools, as in the images.
  MALLOC_ARENA_MAX: '2',
  // If the programs run from TypeScript source, the compile cache saves 40 ms at each start.
  NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
};

/** The delay before a restart. The delay is not random, because the screen should be predictable. */
const RESTART = { baseMs: 1_000, maxMs: 30_000, jitter: 0 };
const KILL_AFTER_MS = 8_000;
const MAX_CRASHES = 3;
/** The minimum time between two reports of dropped log lines. */
const TROUBLE_PERIOD_MS = 60_000;

const OWN_SIGNALS: ReadonlySet<string> = new Set(['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP']);

/** A program that `mcm up` supervises. If a program of `mcm up` ends unexpectedly, `mcm up` restarts the program. */
export class Program {
  readonly spec: ProgramSpec;
  state: ProgramState = 'starting';
  address = '';
  restarts = 0;
  /** A sentence about dropped log lines. If no line was dropped, `problem` is empty. */
  problem = '';
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #file: FileSink;
  readonly #log: LossyWriter;
  #reportedProblem = Number.NEGATIVE_INFINITY;
  #early = 0;
  #crashes = 0;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #lastError = '';

  constructor(spec: ProgramSpec, options: { clock: Clock; onChange: () => void; sink?: Sink }) {
    this.spec = spec;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
    // After a restart, the program continues its log, because users need the log of the failed run.
    this.#file = new FileSink(spec.logFile, { append: true });
    this.#log = new LossyWriter({
      sink: options.sink ?? this.#file.write,
      notice: (dropped, reason) => `mcm dropped ${counted(dropped, 'line')} of the log: ${reason}`,
      failed: (dropped, reason) => this.#failedToLog(dropped, reason),
    });
  }

  /** Reports dropped log lines only once per period. */
  #failedToLog(dropped: number, reason: string): void {
    const now = this.#clock.monotonic();
    if (now - this.#reportedProblem < TROUBLE_PERIOD_MS) return;
    this.#reportedProblem = now;
    this.problem = `mcm dropped ${counted(dropped, 'line')} of ${this.spec.logFile}: ${reason}; free space on the disk`;
    this.#onChange();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the program. The promise resolves with the address of the program when the program prints `ready`. If
   * another process kills the program before `ready`, the program is restarted with a growing delay.
   * @param signal ends the wait. After the abort, the promise rejects with the reason of the signal.
   * @throws {UserError} with the last line of the program, if it exits with an error or crashes three times
   */
  start(signal?: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#launch(resolve, () =>
        reject(new UserError(`${this.spec.name}: ${this.#lastError || 'ended before it was ready'}`)),
      );
    });
  }

  /**
   * Starts a process for the program.
   * @param giveUp Called if the program has ended too often before it printed `ready`. Without `giveUp`, the number of
   * restarts is not limited.
   */
  #launch(onReady: (address: string) => void, giveUp?: () => void): void {
    // The program runs in its own process group, so that Ctrl-C reaches only `mcm up`, which then stops the program.
    const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(this.spec.module), ...this.#args()], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
      env: { ...ENVIRONMENT, ...process.env, ...this.spec.env },
    });
    this.#child = child;
    this.#transition('starting');
    this.#lastError = '';
    let early = true;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => this.#log.write(chunk));
    if (child.stdout) {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const ready = /^ready\s+(\S+)/.exec(line);
        if (!ready) return;
        early = false;
        this.#early = 0;
        this.#crashes = 0;
        this.address = ready[1] ?? '';
        this.#transition('ready');
        onReady(this.address);
      });
    }
    if (child.stderr) {
      createInterface({ input: child.stderr }).on('line', (line) => {
        this.#lastError = laterError(this.#lastError, line);
      });
    }
    this.#ended = new Promise((resolve) => {
      child.once('close', (code, by) => {
        resolve();
        if (this.state === 'stopped') return;
        if (early) this.#early += 1;
        if (early && giveUp !== undefined && this.#isOwnFault(code, by)) {
          this.#transition('stopped');
          giveUp();
        } else this.#restart(early ? onReady : undefined, early ? giveUp : undefined);
      });
      child.once('error', (error) => {
        this.#lastError = error.message;
      });
    });
  }

  /**
   * Returns the arguments of the program. A restarted program uses its previous port, because other programs know its
   * address.
   */
  #args(): readonly string[] {
    const port = URL.canParse(this.address) ? new URL(this.address).port : '';
    return this.spec.args.map((arg) => (arg === '--port=0' && port !== '' ? `--port=${port}` : arg));
  }

  /**
   * Returns true if the program ended because of its own error, or crashed too often. A signal from another process is
   * not an error of the program.
   */
  #isOwnFault(code: number | null, by: NodeJS.Signals | null): boolean {
    if (by !== null && !OWN_SIGNALS.has(by)) return false;
    this.#crashes += 1;
    return (code !== null && code !== 0) || this.#crashes >= MAX_CRASHES;
  }

  /**
   * Restarts the program after a delay.
   * @param onReady called with the first address that the program prints
   */
  #restart(onReady: (address: string) => void = () => undefined, giveUp?: () => void): void {
    this.restarts += 1;
    this.#transition('failed');
    this.#clock.setTimeout(
      () => {
        if (this.state === 'failed') this.#launch(onReady, giveUp);
      },
      backoffMs(RESTART, Math.max(1, this.#early), { next: () => 0 }),
    );
  }

  #transition(state: ProgramState): void {
    this.state = state;
    this.#onChange();
  }

  /** Stops the program with a signal. */
  async stop(): Promise<void> {
    this.#transition('stopped');
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      const kill = this.#clock.setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
      await this.#ended;
      kill.cancel();
    }
    this.#file.close();
  }
}

/** The start of the message that Node.js prints when it aborts, for example without free memory. */
const ABORT = 'FATAL ERROR';

/** Returns the newest error of a program after its output `line`: the error in this line, or the earlier error. */
function laterError(earlier: string, line: string): string {
  return line.trim() === '' || earlier.startsWith(ABORT) ? earlier : sentenceOf(line);
}

/** Returns the message in a line of a structured log. */
function sentenceOf(line: string): string {
  if (!line.startsWith('{')) return line.trim();
  try {
    const entry: unknown = JSON.parse(line);
    const message = (entry as { msg?: unknown }).msg;
    return typeof message === 'string' ? message : line;
  } catch {
    return line;
  }
}
