import { lstat, readlink } from 'node:fs/promises';
import { join, posix } from 'node:path';

const MAX_LINKS = 40;

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');

/**
 * Converts a path on the node to a path in the file system of this process.
 * - Links in the parent directories are resolved within the node's root directory. No link can leave the root directory
 *   of the node.
 * - If the path itself is a link, the link is not resolved.
 * @param root Path of the node's root directory.
 * @param path Absolute path in the file system of the node.
 * @throws Error if the path contains too many links.
 */
export async function pathInRoot(root: string, path: string): Promise<string> {
  const todo = posix
    .normalize(path)
    .split('/')
    .filter((part) => part !== '');
  let at: string[] = [];
  for (let links = 0; todo.length > 0; ) {
    const part = todo.shift() ?? '';
    if (part === '..') at = at.slice(0, -1);
    else at.push(part);
    if (part === '..' || todo.length === 0) continue;
    const target = await linkTarget(join(root, ...at));
    if (target === undefined) continue;
    links += 1;
    if (links > MAX_LINKS) throw new Error(`the path ${path} contains too many symbolic links`);
    at = target.startsWith('/') ? [] : at.slice(0, -1);
    todo.unshift(...target.split('/').filter((one) => one !== '' && one !== '.'));
  }
  return join(root, ...at);
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
