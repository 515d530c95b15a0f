import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inject } from 'vitest';
import { BINARIES, binaryNamed } from './binaries.ts';

export { BINARIES };

/**
 * Returns the folder with all bundled programs, which are bundled once for all test files. Tests must not change the
 * files in the folder.
 */
export async function sharedBundles(): Promise<string> {
  const answer = await fetch(inject('bundles'));
  const text = await answer.text();
  if (!answer.ok) throw new Error(`cannot bundle the programs: ${text}`);
  return text;
}

/** Returns the path of a bundled program, because a bundle starts four times as fast as the source files. */
export const sharedBundle = async (name: string): Promise<string> =>
  join(await sharedBundles(), binaryNamed(name).name, 'dist/main.js');

/**
 * Returns a function that resolves program specifiers, such as `@mcm/provider-local/main`, to the URLs of bundles.
 * Tests use this function because `import.meta.resolve` would return source files.
 */
export async function sharedResolver(): Promise<(module: string) => string> {
  const folder = await sharedBundles();
  return (module) => {
    const binary = BINARIES.find(({ specifier }) => specifier === module);
    if (!binary) throw new Error(`no program is imported as "${module}"`);
    return pathToFileURL(join(folder, binary.name, 'dist/main.js')).href;
  };
}
