import { readFileSync } from 'node:fs';

/** The parts of the process that a suspension uses. */
interface Host {
  readonly pid: number;
  on(signal: 'SIGTSTP' | 'SIGCONT', listener: () => void): unknown;
  off(signal: 'SIGTSTP' | 'SIGCONT', listener: () => void): unknown;
  kill(pid: number, signal: 'SIGTSTP'): unknown;
}

/** The part of a screen that is active only while the process is in the foreground. */
interface Suspendable {
  suspend(): void;
  /** Shows the screen again, and draws the whole screen. */
  resume(): void;
}

export interface Suspension {
  /** Resumes a suspended screen if the process is in the foreground again. */
  check(): void;
  end(): void;
}

/**
 * Returns true if the process belongs to the foreground process group of its terminal. `stat` is the content of
 * `/proc/self/stat`. Without the file, the result is true.
 */
export function isForeground(stat: string | undefined): boolean {
  // The name of the program is in parentheses and can contain spaces.
  const [, , group, , , foreground] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return group === foreground;
}

function readStat(): string | undefined {
  try {
    return readFileSync('/proc/self/stat', 'utf8');
  } catch {
    return undefined; // Only Linux has the status file of a process.
  }
}

/**
 * Suspends the screen when the user presses Ctrl-Z, and resumes the screen after `fg`. After `bg`, the screen stays
 * suspended, because the terminal belongs to the shell.
 */
export function followSuspension(screen: Suspendable, host: Host = process, stat = readStat): Suspension {
  let suspended = false;
  const onStop = (): void => {
    suspended = true;
    screen.suspend();
    // The listener replaces the default action, which stops the process. Without the listener, the second signal stops it.
    host.off('SIGTSTP', onStop);
    host.kill(host.pid, 'SIGTSTP');
  };
  const check = (): void => {
    if (!suspended || !isForeground(stat())) return;
    suspended = false;
    host.on('SIGTSTP', onStop);
    screen.resume();
  };
  const onContinue = (): void => {
    // Other programs may also have used the terminal after SIGSTOP.
    if (suspended) check();
    else screen.resume();
  };
  host.on('SIGTSTP', onStop);
  host.on('SIGCONT', onContinue);
  return {
    check,
    end: () => {
      host.off('SIGTSTP', onStop);
      host.off('SIGCONT', onContinue);
    },
  };
}
