import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** A reference contains the digest of the content (OCI image spec, `descriptor`). */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: Platform;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Platform {
  readonly architecture: string;
  readonly os: string;
}

export interface Layer {
  readonly descriptor: Descriptor;
  readonly diffId: string;
}

export interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

export interface Config {
  readonly architecture: string;
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

const OCI = 'application/vnd.oci.image';
export const MEDIA = {
  index: `${OCI}.index.v1+json`,
  manifest: `${OCI}.manifest.v1+json`,
  config: `${OCI}.config.v1+json`,
  layer: `${OCI}.layer.v1.tar+gzip`,
} as const;

const digestOf = (data: Uint8Array): string => `sha256:${createHash('sha256').update(data).digest('hex')}`;

export class Layout {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  #path(digest: string): string {
    return join(this.#folder, 'blobs', ...digest.split(':'));
  }

  /** Reads content and verifies its digest. */
  async read(digest: string): Promise<Buffer> {
    const data = await readFile(this.#path(digest));
    if (digestOf(data) !== digest) throw new Error(`${this.#path(digest)} does not match the digest in its name`);
    return data;
  }

  async readJson<T>(digest: string): Promise<T> {
    return JSON.parse((await this.read(digest)).toString()) as T;
  }

  async manifests(): Promise<readonly Descriptor[]> {
    const top = JSON.parse(await readFile(join(this.#folder, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
    const open = async (descriptor: Descriptor): Promise<readonly Descriptor[]> => {
      if (!/index|manifest\.list/.test(descriptor.mediaType)) return [descriptor];
      const { manifests } = await this.readJson<{ manifests: Descriptor[] }>(descriptor.digest);
      return (await Promise.all(manifests.map(open))).flat();
    };
    return (await Promise.all(top.manifests.map(open))).flat();
  }

  async put(mediaType: string, data: Uint8Array): Promise<Descriptor> {
    const digest = digestOf(data);
    await mkdir(join(this.#folder, 'blobs/sha256'), { recursive: true });
    await writeFile(this.#path(digest), data);
    return { mediaType, digest, size: data.length };
  }

  putJson(mediaType: string, value: unknown): Promise<Descriptor> {
    return this.put(mediaType, Buffer.from(JSON.stringify(value)));
  }

  /** The header of the compressed file contains no time and no name, so that equal archives give equal bytes. */
  async putLayer(archive: Buffer): Promise<Layer> {
    const descriptor = await this.put(MEDIA.layer, gzipSync(archive, { level: 6 }));
    return { descriptor, diffId: digestOf(archive) };
  }

  async finish(manifests: readonly Descriptor[]): Promise<void> {
    const index = { schemaVersion: 2, mediaType: MEDIA.index, manifests };
    await writeFile(join(this.#folder, 'index.json'), JSON.stringify(index));
    await writeFile(join(this.#folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  }
}
