import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../root.ts';
import { BINARIES } from '../binaries.ts';
import { bundle } from '../bundle.ts';
import { krewManifest } from './krew.ts';
import { writeArchive, writeSingleFile } from './single-file.ts';

// usage: pnpm single-file [--into DIR] [--download-url URL] [--node FILE…] builds mcm and all its programs as one
// executable file for each Node.js binary, its archive, and a krew manifest of all archives in DIR. By default, the
// binary is the running Node.js.
const { values } = parseArgs({
  options: {
    into: { type: 'string', default: join(ROOT, 'dist/release') },
    'download-url': { type: 'string', default: 'DOWNLOAD_URL' },
    node: { type: 'string', multiple: true, default: [process.execPath] },
  },
});
const into = resolve(values.into);
const bundles = join(ROOT, 'dist/bundles');
for (const binary of BINARIES) await bundle(binary, bundles);
for (const node of values.node) {
  const written = await writeSingleFile(bundles, into, resolve(node));
  const archive = await writeArchive(written, into);
  process.stdout.write(`${written.file}\n${archive}\n`);
}
process.stdout.write(`${await krewManifest(into, values['download-url'])}\n`);
