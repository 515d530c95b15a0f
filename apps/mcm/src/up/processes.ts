import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Clock } from '@mcm/kube';
import { UserError } from '../errors.ts';

/** One program that `mcm up` keeps running. */
export interface ProgramSpec {
  readonly name: string;
  /** Module whose start is the program, as `import.meta.resolve` gives it. */
  readonly module: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** `failed`: it ended by itself and is started again after a pause. */
export type ProgramState = 'starting' | 'ready' | 'failed' | 'stopped';

/** What a program finds in its environment unless the user's says otherwise. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  // Two pools of the C library's memory instead of one a thread, as in the images: 5 MB of each program.
  MALLOC_ARENA_MAX: '2',
  // Where the programs keep their compiled modules in any case; said here, it holds for their first module too, which
  // otherwise brings the stripper of types into every process that runs from source: 40 ms of each start.
  NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
};

const RESTART_AFTER_MS = 1_000;
const KILL_AFTER_MS = 8_000;

/** A program under supervision: started again when it ends by itself, ended in order when asked. */
export class Program {
  readonly spec: ProgramSpec;
  state: ProgramState = 'starting';
  /** What followed `ready` on its standard output. */
  address = '';
  restarts = 0;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  /** Open while the program may run. */
  #log: WriteStream | undefined;
  #logged = false;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #lastError = '';

  constructor(spec: ProgramSpec, options: { clock: Clock; onChange: () => void }) {
    this.spec = spec;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the program and resolves with its address once it says `ready`.
   * @throws {UserError} with the program's own last line when it ends before that.
   */
  start(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#launch(
        (address) => resolve(address),
        () => reject(new UserError(`${this.spec.name}: ${this.#lastError || 'ended before it was ready'}`)),
      );
    });
  }

  #launch(onReady: (address: string) => void, onEarlyEnd: () => void): void {
    // A session of its own: Ctrl-C in the terminal reaches the supervisor alone, which then ends its programs in order.
    // The IPC channel tells the program when its supervisor is gone, however that ended.
    const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(this.spec.module), ...this.#args()], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
      env: { ...ENVIRONMENT, ...process.env, ...this.spec.env },
    });
    this.#child = child;
    const log = this.#openLog();
    this.#transition('starting');
    this.#lastError = '';
    let early = true;
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    if (child.stdout) {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const ready = /^ready\s+(\S+)/.exec(line);
        if (!ready) return;
        early = false;
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
      child.once('close', () => {
        resolve();
        if (this.state === 'stopped') return;
        if (early) {
          this.#transition('stopped');
          onEarlyEnd();
        } else this.#restart();
      });
      child.once('error', (error) => {
        this.#lastError = error.message;
      });
    });
  }

  /** The log begins anew with this object, and goes on when the program is started again. */
  #openLog(): WriteStream {
    this.#log ??= createWriteStream(this.spec.logFile, { flags: this.#logged ? 'a' : 'w', mode: 0o600 });
    this.#logged = true;
    return this.#log;
  }

  /** Who is told where a program is does not hear of its restarts: it comes back on the port that it took. */
  #args(): readonly string[] {
    const port = URL.canParse(this.address) ? new URL(this.address).port : '';
    return this.spec.args.map((arg) => (arg === '--port=0' && port !== '' ? `--port=${port}` : arg));
  }

  #restart(): void {
    this.restarts += 1;
    this.#transition('failed');
    this.#clock.setTimeout(() => {
      if (this.state === 'failed')
        this.#launch(
          () => undefined,
          () => this.#restart(),
        );
    }, RESTART_AFTER_MS);
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
    const log = this.#log;
    this.#log = undefined;
    if (log) await new Promise<void>((resolve) => log.end(resolve));
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
