import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Bundle } from '../bundle/bundle.ts';
import { type Config, type Descriptor, type Layer, Layout, type Manifest, MEDIA } from './layout.ts';
import { NODE_PATH, NONROOT, nodeAlone, runtime } from './runtime.ts';
import { archive, type Entry } from './tar.ts';

export interface ImageSettings {
  readonly nodes: readonly string[];
  /** The base image must contain a C library. If there is no base image, the libraries of this machine are used. */
  readonly base?: string | undefined;
  readonly seconds: number;
}

const HOME = 'app';

/** Returns all files of a bundle, except its source map, which is only needed to read stacks. */
async function programFiles({ folder }: Bundle): Promise<Entry[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((each) => each.isFile() && !each.name.endsWith('.map'));
  return Promise.all(
    files.map(async (file): Promise<Entry> => {
      const path = join(file.parentPath, file.name);
      return { path: `${HOME}/${relative(folder, path)}`, mode: 0o644, data: await readFile(path) };
    }),
  );
}

async function baseLayers(folder: string, architecture: string, into: Layout): Promise<readonly Layer[]> {
  const base = new Layout(folder);
  for (const { digest } of await base.manifests()) {
    const { config, layers } = await base.readJson<Manifest>(digest);
    const { architecture: has, rootfs } = await base.readJson<Config>(config.digest);
    if (has !== architecture) continue;
    return Promise.all(
      layers.map(async (layer, index) => {
        await into.put(layer.mediaType, await base.read(layer.digest));
        return { descriptor: layer, diffId: rootfs.diff_ids[index] ?? '' };
      }),
    );
  }
  throw new Error(`the base image in ${folder} has no variant for ${architecture}`);
}

interface Below {
  readonly architecture: string;
  readonly layers: readonly Layer[];
}

async function putBelow(layout: Layout, node: string, { base, seconds }: ImageSettings): Promise<Below> {
  const { entries, architecture } = await (base === undefined ? runtime(node) : nodeAlone(node));
  const layers = base === undefined ? [] : await baseLayers(base, architecture, layout);
  return { architecture, layers: [...layers, await layout.putLayer(archive(entries, seconds))] };
}

/**
 * Writes an OCI image layout with an image for each program and each Node.js binary. The layers are the base image,
 * Node.js and the program. The function needs no container engine, and the same inputs produce the same bytes.
 */
export async function writeImages(
  bundles: readonly Bundle[],
  into: string,
  settings: ImageSettings,
): Promise<readonly Descriptor[]> {
  await rm(into, { recursive: true, force: true });
  const layout = new Layout(into);
  const belows: Below[] = [];
  for (const node of settings.nodes) belows.push(await putBelow(layout, node, settings));
  const manifests: Descriptor[] = [];
  for (const bundle of bundles) {
    const program = await layout.putLayer(archive(await programFiles(bundle), settings.seconds));
    for (const { architecture, layers } of belows) {
      manifests.push(await putManifest(layout, bundle, architecture, [...layers, program], settings.seconds));
    }
  }
  await layout.finish(manifests);
  return manifests;
}

/** Writes the content of an image as files, for tools that build images. */
export async function writeRoot(bundle: Bundle, into: string, node: string): Promise<void> {
  const { entries } = await runtime(node);
  for (const { path, mode, data } of [...entries, ...(await programFiles(bundle))]) {
    const target = join(into, path);
    await mkdir(data ? dirname(target) : target, { recursive: true });
    if (data) await writeFile(target, data);
    await chmod(target, mode);
  }
}

async function putManifest(
  layout: Layout,
  { binary, version, license }: Bundle,
  architecture: string,
  layers: readonly Layer[],
  seconds: number,
): Promise<Descriptor> {
  const created = new Date(seconds * 1000).toISOString();
  const labels = {
    'org.opencontainers.image.title': binary.name,
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': license,
  };
  const config = await layout.putJson(MEDIA.config, {
    created,
    architecture,
    os: 'linux',
    config: {
      User: `${NONROOT}:${NONROOT}`,
      Entrypoint: [`/${NODE_PATH}`, `/${HOME}/dist/main.js`],
      WorkingDir: '/',
      Env: ['PATH=/usr/local/bin', 'NODE_ENV=production', 'MALLOC_ARENA_MAX=2'],
      Labels: labels,
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  });
  const manifest = await layout.putJson(MEDIA.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config,
    layers: layers.map(({ descriptor }) => descriptor),
    annotations: { ...labels, 'org.opencontainers.image.created': created },
  });
  const platform = { architecture, os: 'linux' };
  const annotations = { 'org.opencontainers.image.ref.name': `${binary.name}:${version}` };
  return { ...manifest, platform, annotations };
}
