import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { counted } from '@mcm/api';
import { backoffMs, type Clock, FileSink, LossyWriter, type Sink } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import type { ProgramState } from '../screen/render.ts';

/** The command line of a program of `mcm up`. */
export interface ProgramSpec {
  readonly name: string;
  /** The main module of the program, as `import.meta.resolve` returns it. */
  readonly module: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** Environment variables of a program. A variable that the user has set takes precedence. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  // Limits the C library to two memory pools instead of one per thread, as in the images. With two memory pools, each
  // program uses 5 MB less.
  MALLOC_ARENA_MAX: '2',
  // If the variable is set, the first module of a program uses the compile cache, which saves 40 ms per start from
  // source.
  NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
};

/** The delay before a restart. The delay has no random part, because the screen should be predictable. */
const RESTART = { baseMs: 1_000, maxMs: 30_000, jitter: 0 };
const KILL_AFTER_MS = 8_000;
/**
 * The maximum number of consecutive crashes before the first `ready`. After the maximum number of crashes, the program
 * is not restarted.
 */
const MAX_CRASHES = 3;
/** The minimum time between two reports of dropped log lines. */
const TROUBLE_PERIOD_MS = 60_000;

/**
 * Signals that Node.js sends to its own process, for example when it aborts. If a program ends because of another
 * signal, another process sent the signal.
 */
const OWN_SIGNALS: ReadonlySet<string> = new Set(['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP']);

/** A supervised program. A program that ends unexpectedly is restarted. */
export class Program {
  readonly spec: ProgramSpec;
  state: ProgramState = 'starting';
  /** The address that the program printed after the word `ready`. */
  address = '';
  restarts = 0;
  /** The reason why log lines were dropped. If no line was dropped, `problem` is empty. */
  problem = '';
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #file: FileSink;
  readonly #log: LossyWriter;
  #reportedProblem = Number.NEGATIVE_INFINITY;
  /** How often in a row the program ended before it printed `ready`. */
  #early = 0;
  /** How often in a row the program crashed before it printed `ready`. */
  #crashes = 0;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #lastError = '';

  constructor(spec: ProgramSpec, options: { clock: Clock; onChange: () => void; sink?: Sink }) {
    this.spec = spec;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
    // The log continues after a restart, because users need the log of the failed run.
    this.#file = new FileSink(spec.logFile, { append: true });
    this.#log = new LossyWriter({
      sink: options.sink ?? this.#file.write,
      notice: (dropped, reason) => `mcm dropped ${counted(dropped, 'line')} of the log: ${reason}`,
      failed: (dropped, reason) => this.#failedToLog(dropped, reason),
    });
  }

  /** Reports dropped lines at most once per period, because a program with many log lines would fill the screen. */
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
   * Starts the program. When the program prints `ready`, the promise resolves with the address of the program. If the
   * program is killed before `ready`, the supervisor restarts the program with a growing delay.
   * @param signal Ends the wait. After the abort of the signal, the promise rejects with the reason of the signal.
   * @throws {UserError} with the last line of the program, immediately when it exits with an error, or after three
   *   crashes
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
   * Starts the process of the program.
   * @param giveUp Called if the program ended too often before it printed `ready`. If `giveUp` is absent, the number of
   *   restarts is unlimited.
   */
  #launch(onReady: (address: string) => void, giveUp?: () => void): void {
    // The program runs in a detached process group, so that Ctrl-C reaches only the supervisor. The supervisor stops
    // its programs in order. The IPC channel closes when the supervisor ends, even by a kill.
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

  /** After a restart, the program uses the same port, because other programs have its address. */
  #args(): readonly string[] {
    const port = URL.canParse(this.address) ? new URL(this.address).port : '';
    return this.spec.args.map((arg) => (arg === '--port=0' && port !== '' ? `--port=${port}` : arg));
  }

  /**
   * Returns true if the program itself caused its end. If another process killed the program, the result is false.
   * After its own error, such as an invalid flag, a restart would only repeat the error.
   */
  #isOwnFault(code: number | null, by: NodeJS.Signals | null): boolean {
    if (by !== null && !OWN_SIGNALS.has(by)) return false;
    this.#crashes += 1;
    return (code !== null && code !== 0) || this.#crashes >= MAX_CRASHES;
  }

  /**
   * Restarts the program after a delay.
   * @param onReady Called with the address that the program prints first
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

  /**
   * Terminates the program, and kills it if it does not end in time. The promise resolves when the program has ended.
   */
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

/** The start of the message that Node.js prints when it aborts, for example because the memory is exhausted. */
const ABORT = 'FATAL ERROR';

/** Returns the new last error after a line of output. The stack that Node.js prints after its abort is ignored. */
function laterError(earlier: string, line: string): string {
  return line.trim() === '' || earlier.startsWith(ABORT) ? earlier : sentenceOf(line);
}

/** Returns the message of a structured log line, or the line itself. */
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
