import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../apps/mcm/src/main.ts', import.meta.url));

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface McmRun {
  readonly child: ChildProcess;
  /** Resolves when the command ends. */
  readonly ended: Promise<{ readonly code: number | string; readonly stdout: string; readonly stderr: string }>;
  /** Resolves with the first matching line of standard output. */
  line(pattern: RegExp): Promise<string>;
}

/** @param options.program the bundle of `mcm`, to run it instead of the source */
export function mcm(
  args: readonly string[],
  { cwd, env, program = MAIN }: { cwd: string; env?: Readonly<Record<string, string>>; program?: string | undefined },
): McmRun {
  const child = spawn(process.execPath, ['--conditions=source', program, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const waiting = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    for (const look of waiting) look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<{ code: number | string; stdout: string; stderr: string }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code: code ?? signal ?? 'unknown', stdout, stderr }));
  });
  return {
    child,
    ended,
    line(pattern) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = stdout.split('\n').find((line) => pattern.test(line));
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        void ended.then((end) =>
          reject(new Error(`mcm ended with ${end.code} before it printed ${pattern}\n${end.stdout}\n${end.stderr}`)),
        );
        look();
      });
    },
  };
}
