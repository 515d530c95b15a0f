import { relative, resolve } from 'node:path';

/** Formats a path for a command in a shell. A path below the folder `from` becomes relative. */
export function shellPath(path: string, from = process.cwd()): string {
  const short = relative(from, path);
  const word = short.startsWith('..') ? resolve(from, path) : short;
  return /[^\w./-]/.test(word) ? `'${word}'` : word;
}
