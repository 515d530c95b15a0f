import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

/** The third-party packages that a module imports, directly or through other modules, at its start or later. */
export type Reached = ReadonlyMap<string, readonly string[]>;

/** Matches `import … from 'x'`, `export … from 'x'`, `import 'x'`, `import('x')`, `load('x')` and `require('x')`. */
const IMPORTS =
  /(?:^|\n)\s*(?:import|export)\s+(?!type\b)(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]|\b(?:import|load|require)\(\s*['"]([^'"]+)['"]\s*\)/g;

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** Returns the source file for a specifier of a workspace package. */
function sourceOf(specifier: string, from: string): string | undefined {
  const name = packageOf(specifier);
  if (!name.startsWith('@mcm/')) return undefined;
  let folder = dirname(from);
  while (!existsSync(join(folder, 'node_modules', name, 'package.json')) && folder !== '/') folder = dirname(folder);
  const root = join(folder, 'node_modules', name);
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, { source?: string }>;
  };
  const source = exports[`.${specifier.slice(name.length)}`]?.source;
  if (source === undefined) throw new Error(`${from}: ${specifier} has no source`);
  return createRequire(import.meta.url).resolve(join(root, source));
}

/** Follows all imports of a module within the workspace. */
export function reachedFrom(entry: string): Reached {
  const reached = new Map<string, readonly string[]>();
  const seen = new Set<string>();
  const visit = (file: string, chain: readonly string[]): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const here = [...chain, file];
    for (const [, first, second] of readFileSync(file, 'utf8').matchAll(IMPORTS)) {
      const specifier = first ?? second ?? '';
      if (specifier.startsWith('node:')) continue;
      const inside = specifier.startsWith('.') ? resolve(dirname(file), specifier) : sourceOf(specifier, file);
      if (inside !== undefined) visit(inside, here);
      else if (!reached.has(packageOf(specifier))) reached.set(packageOf(specifier), here);
    }
  };
  visit(entry, []);
  return reached;
}
