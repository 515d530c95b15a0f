import { join } from 'node:path';
import { nearest } from '@mcm/kube/flags';
import { UserError } from '../command/errors.ts';
import type { OutputFormat } from '../output/format.ts';
import { entryText, isWanted, type Level, type LogEntry, type LogFilter } from './entry.ts';
import { LogFolder } from './folder.ts';

export interface LogFlags {
  readonly dataDir: string;
  readonly follow?: boolean;
  readonly machine?: string;
  readonly level?: Level;
  readonly tail?: number;
  readonly output: OutputFormat;
}

export interface LogEnvironment {
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Prints the logs. With `follow`, mcm also prints new lines until the signal is aborted.
 * @throws UserError if no logs exist, or if a program has no log
 */
export async function showLogs(
  programs: readonly string[],
  { dataDir, follow, machine, level, tail, output }: LogFlags,
  { say, signal }: LogEnvironment,
): Promise<void> {
  const folder = new LogFolder(join(dataDir, 'logs'));
  const filter: LogFilter = {
    programs: programs.length > 0 ? programs : undefined,
    machine,
    level,
  };
  const wanted = (entries: readonly LogEntry[]): LogEntry[] => entries.filter((entry) => isWanted(entry, filter));
  const print = (entries: readonly LogEntry[]): void => {
    for (const entry of entries) say(entryText(entry, output));
  };
  try {
    checkPrograms(programs, await folder.programs());
    const there = wanted([...(await folder.read()), ...(follow ? [] : folder.unfinished())]);
    print(tail === undefined ? there : there.slice(Math.max(there.length - tail, 0)));
    if (follow) for await (const entries of folder.follow(signal)) print(wanted(entries));
  } finally {
    await folder.close();
  }
}

function checkPrograms(wanted: readonly string[], there: readonly string[]): void {
  for (const name of wanted) {
    if (there.includes(name)) continue;
    const near = nearest(name, there);
    const help = near === undefined ? `existing logs: ${there.join(', ') || 'none'}` : `did you mean ${near}?`;
    throw new UserError(`no log of "${name}" exists; ${help}`);
  }
}
