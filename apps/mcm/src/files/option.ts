import { UserError } from '../command/errors.ts';

export const RECURSIVE = ['-R, --recursive', 'also read subdirectories'] as const;

/** Collects the paths of an option that a user can repeat. */
export const repeated = (path: string, paths: readonly string[] = []): readonly string[] => [...paths, path];

/** @throws UserError if the user has given no file */
export function pathsOf(words: readonly string[], filename: readonly string[] = []): readonly string[] {
  const paths = [...words, ...filename];
  if (paths.length === 0) throw new UserError('a path is required: a file, a directory of YAML and JSON files, or -');
  return paths;
}
