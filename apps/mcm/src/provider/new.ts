import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { version } from '../command/version.ts';
import { type Example, providerFiles } from './files.ts';
import { providerName } from './names.ts';

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
 * @param parent The folder that will contain the new folder.
 * @returns the paths of the files, relative to the new folder.
 * @throws UserError if the name is invalid, or the folder is not empty
 */
export async function newProvider(name: string, parent: string): Promise<readonly string[]> {
  const named = providerName(name);
  const folder = join(parent, named.plain);
  if (!(await isEmpty(folder)))
    throw new UserError(`${folder} exists and is not empty: use another name, or run the command in another folder`);
  const files = providerFiles(named, await readExamples(), version());
  for (const [path, text] of files) {
    makeFolder(dirname(join(folder, path)));
    await writeFile(join(folder, path), text);
  }
  return [...files.keys()];
}
