import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inject } from 'vitest';
import { BINARIES, binaryNamed } from './binaries.ts';

export { BINARIES };

/**
 * Returns the folder of all bundled programs, which are bundled once for all test files. Tests must not change the
 * folder.
 */
export async function sharedBundles(): Promise<string> {
  const answer = await fetch(inject('bundles'));
  const text = await answer.text();
  if (!answer.ok) throw new Error(`cannot bundle the programs: ${text}`);
  return text;
}

/** Returns the file of a bundled program, which starts four times as fast as its source files. */
export const sharedBundle = async (name: string): Promise<string> =>
  join(await sharedBundles(), binaryNamed(name).name, 'dist/main.js');

/**
 * Returns a function that resolves the specifiers of programs to bundles: `resolve('@mcm/provider-local/main')` is the
 * URL of its bundle. Tests use this function instead of `import.meta.resolve`, which would find the source files.
 */
export async function sharedResolver(): Promise<(module: string) => string> {
  const folder = await sharedBundles();
  return (module) => {
    const binary = BINARIES.find(({ specifier }) => specifier === module);
    if (!binary) throw new Error(`no program is imported as "${module}"`);
    return pathToFileURL(join(folder, binary.name, 'dist/main.js')).href;
  };
}
