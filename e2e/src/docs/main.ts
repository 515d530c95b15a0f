import { staleFiles, writeReference } from './provider-reference.ts';

/** Writes the providers' reference; with `--check` says which of its files are stale, and exits 1. */
if (process.argv.includes('--check')) {
  const stale = staleFiles();
  for (const path of stale) process.stderr.write(`${path} is stale: run pnpm generate\n`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  process.stdout.write(`generate: ${writeReference().length} files of the providers' reference written\n`);
}
