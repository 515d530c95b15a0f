import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isRecord } from '@mcm/kube';

/**
 * Returns the shell commands that install the dependencies of a new provider. The mcm packages are not in a public
 * registry, so the commands use tarballs from a clone.
 * @param self the file of the running program
 */
export function installSteps(self: string): readonly string[] {
  const clone = above(self, (folder) => existsSync(join(folder, 'pnpm-workspace.yaml')) && hasCommand(folder));
  if (clone !== undefined) {
    const pack = `(cd ${quoted(clone)} && npx -y pnpm@12 build && npx -y pnpm@12 tarballs)`;
    return [pack, `npm install ${quoted(join(clone, 'dist/packages'))}/*.tgz`];
  }
  const tarballs = tarballsOf(self);
  return [tarballs === undefined ? 'npm install' : `npm install ${quoted(tarballs)}/*.tgz`];
}

const hasCommand = (folder: string): boolean => existsSync(join(folder, 'apps/mcm/package.json'));

function above(file: string, isWanted: (folder: string) => boolean): string | undefined {
  for (let at = dirname(file); ; at = dirname(at)) {
    if (isWanted(at)) return at;
    if (dirname(at) === at) return undefined;
  }
}

/**
 * Returns the folder with the tarball from which npm installed mcm. If mcm was installed from a registry, `tarballsOf`
 * returns undefined.
 */
function tarballsOf(self: string): string | undefined {
  const at = self.lastIndexOf(join('node_modules', '@mcm', 'cli'));
  const project = at < 0 ? undefined : self.slice(0, at);
  const file = project === undefined ? undefined : join(project, 'package.json');
  if (project === undefined || file === undefined || !existsSync(file)) return undefined;
  const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const { dependencies, devDependencies } = isRecord(manifest) ? manifest : {};
  const specs = [dependencies, devDependencies].map((all) => (isRecord(all) ? all['@mcm/cli'] : undefined));
  const tarball = specs.find((spec) => typeof spec === 'string' && /^file:.*\.tgz$/.test(spec));
  return typeof tarball === 'string' ? dirname(resolve(project, tarball.slice('file:'.length))) : undefined;
}

/** Adds quotes to a path for a POSIX shell, if necessary. */
const quoted = (path: string): string => (/^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);
