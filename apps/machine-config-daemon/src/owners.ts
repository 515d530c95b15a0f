import { readFile } from 'node:fs/promises';
import { pathInRoot } from './in-root.ts';

/**
 * Returns the ID of a user or group, from the files of the node.
 * @throws Error if the name is unknown
 */
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
  if (line === undefined || !Number.isInteger(id))
    throw new Error(`${JSON.stringify(owner)} does not exist in ${file}`);
  return id;
}
