import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A program in a separate process, which is not restarted. */
export interface Binary {
  readonly pid: number;
  /** Resolves with the text after `ready`. Rejects with the last line of the log if the program ends earlier. */
  readonly ready: Promise<string>;
  /**
   * A promise that resolves at the end of the program with its exit code or signal, and with the last line of its log.
   */
  readonly ended: Promise<{ readonly code: number | string; readonly lastLine: string }>;
  kill(signal: NodeJS.Signals): void;
}

/** @param program The path of a source file or a bundle for Node.js. */
export function startBinary(program: string, args: readonly string[], env: Record<string, string> = {}): Binary {
  const child = spawn(process.execPath, ['--conditions=source', program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const ready = Promise.withResolvers<string>();
  let lastLine = '';
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('ready ')) ready.resolve(line.slice('ready '.length));
  });
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.trim() !== '') lastLine = line;
  });
  const ended = new Promise<{ code: number | string; lastLine: string }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code: code ?? signal ?? '', lastLine }));
  });
  ended.then(
    () => ready.reject(new Error(lastLine)),
    (error) => ready.reject(error),
  );
  ready.promise.catch(() => undefined);
  return { pid: child.pid ?? 0, ready: ready.promise, ended, kill: (signal) => void child.kill(signal) };
}
