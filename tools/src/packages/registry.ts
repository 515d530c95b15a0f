import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Manifest, readManifest } from './packages.ts';

/** A package in a registry: its package.json, and the bytes of its tarball. */
interface Release {
  readonly manifest: Manifest;
  readonly tarball: Buffer;
}

export interface Registry {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts a package registry on loopback that has only these tarballs, as after a release.
 *
 * @param tarballs The files by the name of their package.
 * @param homes The folder of each unpacked tarball.
 */
export async function serveRegistry(
  tarballs: ReadonlyMap<string, string>,
  homes: ReadonlyMap<string, string>,
): Promise<Registry> {
  const releases = new Map<string, Release>();
  for (const [name, home] of homes) {
    releases.set(name, { manifest: await readManifest(home), tarball: await readFile(tarballs.get(name) ?? '') });
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '').replace(/\?.*/, '')).slice(1);
    const release = releases.get(path.replace(/\/-\/package\.tgz$/, ''));
    if (!release) {
      response.writeHead(404).end('{}');
      return;
    }
    if (path.endsWith('/-/package.tgz')) {
      response.end(release.tarball);
      return;
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(packument(release, `http://${request.headers.host}`)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}/`, close };
}

const packument = ({ manifest, tarball }: Release, origin: string) => ({
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
