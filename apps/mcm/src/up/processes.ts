import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { backoffMs, type Clock, FileSink, LossyWriter, type Sink } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import type { ProgramState } from '../screen/render.ts';

/** One program that `mcm up` keeps running. */
export interface ProgramSpec {
  readonly name: string;
  /** Module whose start is the program, as `import.meta.resolve` gives it. */
  readonly module: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** What a program finds in its environment unless the user's says otherwise. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  // Two pools of the C library's memory instead of one a thread, as in the images: 5 MB of each program.
  MALLOC_ARENA_MAX: '2',
  // Where the programs keep their compiled modules in any case; said here, it holds for their first module too, which
  // otherwise brings the stripper of types into every process that runs from source: 40 ms of each start.
  NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
};

/** Between an end and the next start; the same for each user, so that the screen can be foretold. */
const RESTART = { baseMs: 1_000, maxMs: 30_000, jitter: 0 };
const KILL_AFTER_MS = 8_000;
/** Crashes in a row, before it has ever been ready, after which a program is not started again. */
const MAX_CRASHES = 3;
/** How often a log that cannot be written is reported. */
const TROUBLE_PERIOD_MS = 60_000;

/** Signals by which the runtime ends itself; any other comes from outside. */
const OWN_SIGNALS: ReadonlySet<string> = new Set(['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP']);

/** A program under supervision: started again when it ends by itself, ended in order when asked. */
export class Program {
  readonly spec: ProgramSpec;
  state: ProgramState = 'starting';
  /** What followed `ready` on its standard output. */
  address = '';
  restarts = 0;
  /** Why its log lacks lines; empty: it lacks none. */
  trouble = '';
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #file: FileSink;
  readonly #log: LossyWriter;
  #toldTrouble = Number.NEGATIVE_INFINITY;
  /** Ends in a row before it was ready. */
  #early = 0;
  /** Of those, by a crash. */
  #crashes = 0;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #lastError = '';

  constructor(spec: ProgramSpec, options: { clock: Clock; onChange: () => void; sink?: Sink }) {
    this.spec = spec;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
    this.#file = new FileSink(spec.logFile);
    this.#log = new LossyWriter({
      sink: options.sink ?? this.#file.write,
      notice: (dropped, reason) => `mcm: ${dropped} lines of this log were dropped: ${reason}`,
      failed: (dropped, reason) => this.#failedToLog(dropped, reason),
    });
  }

  /** Reported once in a while: a program that says much would fill the screen with it. */
  #failedToLog(dropped: number, reason: string): void {
    const now = this.#clock.monotonic();
    if (now - this.#toldTrouble < TROUBLE_PERIOD_MS) return;
    this.#toldTrouble = now;
    this.trouble = `${dropped} lines of ${this.spec.logFile} were dropped: ${reason}; make room on the disk`;
    this.#onChange();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the program and resolves with its address once it says `ready`. A program that is killed before that is
   * started again, after a pause that grows.
   * @param signal Ends the wait: it rejects with the signal's reason.
   * @throws {UserError} with the program's own last line when it ends by its own fault: at once for an error that it
   * exits with, at the third time in a row for a crash.
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

  /** @param giveUp Called when it ends before it is ready once too often; absent: it is tried again for ever. */
  #launch(onReady: (address: string) => void, giveUp?: () => void): void {
    // A session of its own: Ctrl-C in the terminal reaches the supervisor alone, which then ends its programs in order.
    // The IPC channel tells the program when its supervisor is gone, however that ended.
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

  /** Who is told where a program is does not hear of its restarts: it comes back on the port that it took. */
  #args(): readonly string[] {
    const port = URL.canParse(this.address) ? new URL(this.address).port : '';
    return this.spec.args.map((arg) => (arg === '--port=0' && port !== '' ? `--port=${port}` : arg));
  }

  /** A kill from outside is no fault. A refusal, such as of a flag, would only be repeated. */
  #isOwnFault(code: number | null, by: NodeJS.Signals | null): boolean {
    if (by !== null && !OWN_SIGNALS.has(by)) return false;
    this.#crashes += 1;
    return (code !== null && code !== 0) || this.#crashes >= MAX_CRASHES;
  }

  /** @param onReady Called with the address of the first `ready`; absent: no caller waits for it. */
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

  /** Asks the program to end, and after a while makes it. Resolves when it is gone. */
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

/** What an abort of the runtime itself begins with, such as when memory is used up. */
const ABORT = 'FATAL ERROR';

/** The error that a program tells with its last lines. An abort is told once and followed by the stack of the runtime. */
function laterError(earlier: string, line: string): string {
  return line.trim() === '' || earlier.startsWith(ABORT) ? earlier : sentenceOf(line);
}

/** The message of a structured log line, or the line itself. */
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
