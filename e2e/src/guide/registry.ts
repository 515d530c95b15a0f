import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Manifest } from './packages.ts';

/** A tarball and the package.json in it. */
export interface Packed {
  readonly tarball: string;
  readonly manifest: Manifest;
}

export interface Registry {
  readonly url: string;
  close(): Promise<void>;
}

/** A package registry on loopback that has these tarballs and nothing else: what a release would have put there. */
export async function serveRegistry(packed: readonly Packed[]): Promise<Registry> {
  const bodies = new Map<string, Buffer>();
  const known = new Map<string, Manifest>();
  for (const { tarball, manifest } of packed) {
    bodies.set(manifest.name, await readFile(tarball));
    known.set(manifest.name, manifest);
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '').replace(/\?.*/, '')).slice(1);
    const tarball = bodies.get(path.replace(/\/-\/package\.tgz$/, ''));
    if (path.endsWith('/-/package.tgz') && tarball) {
      response.end(tarball);
      return;
    }
    const manifest = known.get(path);
    if (!manifest || !tarball) {
      response.writeHead(404).end('{}');
      return;
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(packument(manifest, tarball, `http://${request.headers.host}`)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}/`, close };
}

const packument = (manifest: Manifest, tarball: Buffer, origin: string) => ({
  name: manifest.name,
  'dist-tags': { latest: manifest.version },
  versions: {
    [manifest.version]: {
      ...manifest,
      dist: {
        tarball: `${origin}/${manifest.name}/-/package.tgz`,
        integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
      },
    },
  },
});
