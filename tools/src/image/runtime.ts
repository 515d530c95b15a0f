import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../root.ts';
import { readElf } from './elf.ts';
import type { Entry } from './tar.ts';

export const NODE_PATH = 'usr/local/bin/node';

/** The Node.js binary for the machine that builds the image. The lock file contains its version. */
export const PINNED_NODE = join(ROOT, 'node_modules/node/bin/node');

const TRIPLES: Readonly<Record<string, string>> = {
  amd64: 'x86_64-linux-gnu',
  arm64: 'aarch64-linux-gnu',
  ppc64le: 'powerpc64le-linux-gnu',
  s390x: 's390x-linux-gnu',
};

export const NONROOT = 65_532;

const text = (path: string, content: string): Entry => ({ path, mode: 0o644, data: Buffer.from(content) });

/** Files that the C library and Node.js need in an empty root file system. */
const FILES: readonly Entry[] = [
  text('etc/passwd', `root:x:0:0:root:/:/sbin/nologin\nnonroot:x:${NONROOT}:${NONROOT}:nonroot:/:/sbin/nologin\n`),
  text('etc/group', `root:x:0:\nnonroot:x:${NONROOT}:\n`),
  text('etc/nsswitch.conf', 'hosts: files dns\n'),
  { path: 'tmp', mode: 0o1777 },
];

/** Returns the files for a base image that already contains a C library. The only file is the Node.js binary. */
export async function nodeAlone(node: string): Promise<{ entries: Entry[]; architecture: string }> {
  const data = await readFile(node);
  return { entries: [{ path: NODE_PATH, mode: 0o755, data }], architecture: readElf(data).architecture };
}

/**
 * Returns a root file system with Node.js and its shared libraries, which come from the build machine. The file
 * system has no shell and no package manager.
 */
export async function runtime(node: string): Promise<{ entries: Entry[]; architecture: string }> {
  const { entries, architecture } = await nodeAlone(node);
  const { loader, libraries } = readElf(await readFile(node));
  const found = new Map<string, Entry>();
  const take = async (path: string): Promise<void> => {
    if (found.has(path)) return;
    const data = await readFile(path);
    found.set(path, { path: path.slice(1), mode: 0o755, data });
    for (const needed of readElf(data).libraries) await take(libraryPath(needed, architecture));
  };
  if (loader !== undefined) await take(loader);
  for (const needed of libraries) await take(libraryPath(needed, architecture));
  return { entries: [...FILES, ...entries, ...found.values()], architecture };
}

function libraryPath(name: string, architecture: string): string {
  const triple = TRIPLES[architecture];
  const folders = [`/lib/${triple}`, `/usr/lib/${triple}`, '/lib64', '/usr/lib64', '/lib', '/usr/lib'];
  const path = folders.map((folder) => `${folder}/${name}`).find((candidate) => existsSync(candidate));
  if (path !== undefined) return path;
  throw new Error(
    `library ${name} for ${architecture} is not installed; build on a computer with ${architecture}, or set a base image with --base`,
  );
}
