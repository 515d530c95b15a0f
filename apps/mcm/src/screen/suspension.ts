import { readFileSync } from 'node:fs';

interface Host {
  readonly pid: number;
  on(signal: 'SIGTSTP' | 'SIGCONT', listener: () => void): unknown;
  off(signal: 'SIGTSTP' | 'SIGCONT', listener: () => void): unknown;
  kill(pid: number, signal: 'SIGTSTP'): unknown;
}

interface Suspendable {
  suspend(): void;
  /** Shows the screen again, and draws the whole screen. */
  resume(): void;
}

export interface Suspension {
  /** Shows a suspended screen again if the process is in the foreground. */
  check(): void;
  end(): void;
}

/**
 * Returns true if the process belongs to the foreground process group of its terminal. `stat` is the content of
 * `/proc/self/stat`.
 */
export function isForeground(stat: string | undefined): boolean {
  // The name of the program is in parentheses and may contain spaces.
  const [, , group, , , foreground] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return group === foreground;
}

function readStat(): string | undefined {
  try {
    return readFileSync('/proc/self/stat', 'utf8');
  } catch {
    return undefined; // The status file of a process exists only on Linux.
  }
}

/**
 * Hides the screen when the user presses Ctrl-Z, and shows it again after `fg`. After `bg`, the shell uses the
 * terminal, so the screen stays hidden.
 */
export function followSuspension(screen: Suspendable, host: Host = process, stat = readStat): Suspension {
  let suspended = false;
  const onStop = (): void => {
    suspended = true;
    screen.suspend();
    // Without a listener for SIGTSTP, the signal stops the process. Therefore, the listener is removed before the
    // process sends the signal to itself.
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
    // The process can also continue after SIGSTOP. Other programs may have written to the terminal, so the screen is
    // drawn again.
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
