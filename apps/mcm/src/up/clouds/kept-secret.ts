import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { DataDir } from '../../instance/data-dir.ts';

/**
 * Reads a secret from a file in the data directory. If the file does not exist, the function creates the secret first.
 */
export function keptSecret(data: DataDir, name: string, make: () => string): string {
  const file = data.file(name);
  if (!existsSync(file)) writeFileSync(file, make(), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}
