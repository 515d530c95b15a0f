import { readFileSync } from 'node:fs';

/** The version of this package, as npm knows it. */
export const version = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return (manifest as { version: string }).version;
};
