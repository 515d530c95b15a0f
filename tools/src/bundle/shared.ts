import { join } from 'node:path';
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
