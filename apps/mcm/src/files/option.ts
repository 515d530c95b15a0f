import { UserError } from '../command/errors.ts';

export const RECURSIVE = ['-R, --recursive', 'also read subdirectories'] as const;

/** Adds a path to the earlier paths of an option that can be repeated. */
export const repeated = (path: string, paths: readonly string[] = []): readonly string[] => [...paths, path];

/**
 * Returns the files of a command. The user can write files as arguments or, like in kubectl, with `-f`. @throws
 * UserError if there is no file
 */
export function pathsOf(words: readonly string[], filename: readonly string[] = []): readonly string[] {
  const paths = [...words, ...filename];
  if (paths.length === 0) throw new UserError('a path is required: a file, a directory of YAML and JSON files, or -');
  return paths;
}
