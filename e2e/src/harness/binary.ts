import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Binary {
  readonly pid: number;
  /** Resolves with the text that the program prints after `ready`. */
  readonly ready: Promise<string>;
  /** Resolves when the program ends, with its exit code or signal and the last line of its log. */
  readonly ended: Promise<{ readonly code: number | string; readonly lastLine: string }>;
  kill(signal: NodeJS.Signals): void;
}

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
