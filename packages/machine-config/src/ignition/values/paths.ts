/** Returns the shortest form of a path, like Go's `path.Clean`. */
export function cleanPath(path: string): string {
  if (path === '') return '.';
  const absolute = path.startsWith('/');
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (!absolute) parts.push('..');
  }
  return absolute ? `/${parts.join('/')}` : parts.join('/') || '.';
}

/** Joins paths like `path.Join` of Go, without empty paths. */
export const joinPaths = (...paths: readonly string[]): string => {
  const given = paths.filter((path) => path !== '');
  return given.length === 0 ? '' : cleanPath(given.join('/'));
};

const SHORTEST = /^(?:\/[^/.][^/]*)+$/;

export function pathProblem(path: string): string | undefined {
  if (SHORTEST.test(path)) return undefined;
  if (path === '') return 'path not specified';
  if (!path.startsWith('/')) return 'path not absolute';
  return cleanPath(path) === path ? undefined : 'path is not fully simplified';
}

/** Returns the extension of a path with its dot. */
export const extensionOf = (name: string): string => {
  const base = name.slice(name.lastIndexOf('/') + 1);
  const dot = base.lastIndexOf('.');
  return dot < 0 ? '' : base.slice(dot);
};
