import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { version } from '../command/version.ts';
import { type Example, providerFiles } from './files.ts';
import { providerName } from './names.ts';

/** A file of the conformance kit's worked example. */
const readExample = (name: string): Promise<string> =>
  readFile(fileURLToPath(import.meta.resolve(`@mcm/conformance/examples/${name}`)), 'utf8');

async function readExamples(): Promise<Example> {
  const [driver, cloud, config] = await Promise.all(['toy-driver.ts', 'toy-cloud.ts', 'toy.yaml'].map(readExample));
  return { driver: driver ?? '', cloud: cloud ?? '', config: config ?? '' };
}

async function isEmpty(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return true;
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return false;
    throw error;
  }
}

/**
 * Writes the package of a new provider into a folder of its name.
 * @param parent Where the folder is made.
 * @returns paths of the files, from the folder
 * @throws UserError when the name cannot be one, or the folder holds something
 */
export async function newProvider(name: string, parent: string): Promise<readonly string[]> {
  const named = providerName(name);
  const folder = join(parent, named.plain);
  if (!(await isEmpty(folder)))
    throw new UserError(`${folder} is there and not empty: choose another name, or another folder to run this in`);
  const files = providerFiles(named, await readExamples(), version());
  for (const [path, text] of files) {
    makeFolder(dirname(join(folder, path)));
    await writeFile(join(folder, path), text);
  }
  return [...files.keys()];
}
