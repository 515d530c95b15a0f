import { readFile } from 'node:fs/promises';
import { pathInRoot } from './in-root.ts';

/** Finds the id of a user or group in the node's own files. Numbers are ids. @throws Error for a name that is not there */
export async function ownerId(
  root: string,
  file: '/etc/passwd' | '/etc/group',
  owner: string | number,
): Promise<number> {
  if (typeof owner === 'number') return owner;
  if (owner === 'root') return 0;
  const text = await readFile(await pathInRoot(root, file), 'utf8').catch(() => '');
  const line = text.split('\n').find((one) => one.startsWith(`${owner}:`));
  const id = Number(line?.split(':')[2]);
  if (line === undefined || !Number.isInteger(id)) throw new Error(`there is no ${JSON.stringify(owner)} in ${file}`);
  return id;
}
