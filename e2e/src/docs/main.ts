import { stalePages, writePages } from './generated.ts';

/**
 * Writes the generated pages of the documentation. With `--check`, the program prints the outdated pages and exits with
 * 1.
 */
if (process.argv.includes('--check')) {
  const stale = stalePages();
  for (const path of stale) process.stderr.write(`${path} is stale: run pnpm generate\n`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  process.stdout.write(`generate: ${writePages().length} pages of the documentation written\n`);
}
