import { relative, resolve } from 'node:path';

/** Formats a path for a shell command. The path is relative if it is below the folder `from`, and quoted if needed. */
export function shellPath(path: string, from = process.cwd()): string {
  const short = relative(from, path);
  const word = short.startsWith('..') ? resolve(from, path) : short;
  return /[^\w./-]/.test(word) ? `'${word}'` : word;
}
