import { join } from 'node:path';
import { ROOT } from '../root.ts';
import { BINARIES, binaryNamed } from './binaries.ts';
import { bundle } from './bundle.ts';

// usage: pnpm bundle [NAME…]: one file a program in dist/bundles/<name>/dist/main.js; all programs when none is named.
const names = process.argv.slice(2);
const into = join(ROOT, 'dist/bundles');
for (const binary of names.length > 0 ? names.map(binaryNamed) : BINARIES) {
  const { file, bytes, packages } = await bundle(binary, into);
  process.stdout.write(`${file} ${(bytes / 1024).toFixed(0)} KiB, ${packages.length} packages of others\n`);
}
