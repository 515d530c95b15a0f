import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inject } from 'vitest';
import { BINARIES, binaryNamed } from './binaries.ts';

export { BINARIES };

/** The folder of all programs as they are shipped, bundled once for all test files. Nobody may change what is in it. */
export async function sharedBundles(): Promise<string> {
  const answer = await fetch(inject('bundles'));
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the programs could not be bundled: ${text}`);
  return text;
}

/** A program as it is shipped, which starts in a quarter of its sources' time: what Node runs. */
export const sharedBundle = async (name: string): Promise<string> =>
  join(await sharedBundles(), binaryNamed(name).name, 'dist/main.js');

/**
 * The programs as they are shipped, by what other programs import: `resolve('@mcm/provider-local/main')` is the URL of its bundle.
 * In place of `import.meta.resolve`, which finds the sources.
 */
export async function sharedResolver(): Promise<(module: string) => string> {
  const folder = await sharedBundles();
  return (module) => {
    const binary = BINARIES.find(({ specifier }) => specifier === module);
    if (!binary) throw new Error(`no binary is imported as "${module}"`);
    return pathToFileURL(join(folder, binary.name, 'dist/main.js')).href;
  };
}
