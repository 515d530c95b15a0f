import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BINARIES, binaryNamed } from '../bundle/binaries.ts';
import { type Bundle, bundle } from '../bundle/bundle.ts';
import { ROOT } from '../root.ts';
import { writeImages, writeRoot } from './image.ts';
import { PINNED_NODE } from './runtime.ts';

// usage: pnpm image [NAME…] [--base LAYOUT] [--node FILE…]: writes an OCI image layout to dist/image. pnpm image NAME
// --root FOLDER: writes the content of the image as files.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    base: { type: 'string' },
    root: { type: 'string' },
    node: { type: 'string', multiple: true, default: [PINNED_NODE] },
  },
});
const seconds = Number(process.env.SOURCE_DATE_EPOCH ?? 0);
const chosen = positionals.length > 0 ? positionals.map(binaryNamed) : BINARIES.filter(({ image }) => image);
const bundles: Bundle[] = [];
for (const binary of chosen) bundles.push(await bundle(binary, join(ROOT, 'dist/bundles')));
if (values.root !== undefined) {
  const [only, ...others] = bundles;
  if (only === undefined || others.length > 0) throw new Error('--root requires exactly one program');
  await writeRoot(only, values.root, values.node[0] ?? PINNED_NODE);
} else {
  await print();
}

async function print(): Promise<void> {
  const settings = { nodes: values.node, seconds, base: values.base };
  for (const { digest, platform, annotations } of await writeImages(bundles, join(ROOT, 'dist/image'), settings)) {
    process.stdout.write(`${Object.values(annotations ?? {}).join()} ${platform?.architecture} ${digest}\n`);
  }
}
