import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../root.ts';
import { BINARIES } from '../binaries.ts';
import { bundle } from '../bundle.ts';
import { krewManifest } from './krew.ts';
import { platformOf, writeArchive, writeSingleFile } from './single-file.ts';

// usage: pnpm single-file [--into DIR] [--download-url URL] builds mcm and all its programs as one executable file for
// this platform, its archive, and a krew manifest of all archives in DIR.
const { values } = parseArgs({
  options: {
    into: { type: 'string', default: join(ROOT, 'dist/release') },
    'download-url': { type: 'string', default: 'DOWNLOAD_URL' },
  },
});
const into = resolve(values.into);
const bundles = join(ROOT, 'dist/bundles');
for (const binary of BINARIES) await bundle(binary, bundles);
const file = await writeSingleFile(bundles, into, process.execPath);
const archive = await writeArchive(file, into, platformOf(process.platform, process.arch));
const manifest = await krewManifest(into, values['download-url']);
for (const path of [file, archive, manifest]) process.stdout.write(`${path}\n`);
