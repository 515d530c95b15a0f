import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { PAGE_FILE, pageModule } from './page.ts';

/**
 * Bundles the page of the dashboard into one module. With `--check`, the program exits with 1 if the module is
 * outdated.
 */
const text = await pageModule();
const current = existsSync(PAGE_FILE) ? readFileSync(PAGE_FILE, 'utf8') : '';
if (!process.argv.includes('--check')) {
  writeFileSync(PAGE_FILE, text);
  process.stdout.write(`generate: the page of the dashboard written (${Math.round(text.length / 1024)} KiB)\n`);
} else if (text !== current) {
  process.stderr.write('apps/dashboard/src/generated/page.ts is stale: run pnpm generate\n');
  process.exitCode = 1;
}
