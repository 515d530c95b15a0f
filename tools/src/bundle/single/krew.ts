import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';

const ARCHIVE = /^mcm-v(?<version>[^-]+(?:-[a-z0-9.]+)?)-(?<os>linux|darwin|windows)-(?<arch>[a-z0-9]+)\.tar\.gz$/;

/**
 * Writes `mcm.yaml`, the krew manifest of the kubectl plugin, with the checksums of all archives in a folder.
 *
 * @param url The download URL of the folder with the archives of a release.
 * @returns the path of the written manifest.
 * @throws Error if the folder has no archive, or archives of several versions.
 */
export async function krewManifest(folder: string, url: string): Promise<string> {
  const found = (await readdir(folder)).toSorted().flatMap((name) => {
    const parts = ARCHIVE.exec(name)?.groups;
    return parts ? [{ name, version: parts.version, os: parts.os, arch: parts.arch }] : [];
  });
  const versions = new Set(found.map(({ version }) => version));
  if (versions.size !== 1) throw new Error(`${folder} must contain archives of one version, found ${versions.size}`);
  const platforms = await Promise.all(
    found.map(async ({ name, os, arch }) => ({
      selector: { matchLabels: { os, arch } },
      uri: `${url}/${name}`,
      sha256: createHash('sha256')
        .update(await readFile(join(folder, name)))
        .digest('hex'),
      bin: os === 'windows' ? 'kubectl-mcm.exe' : 'kubectl-mcm',
    })),
  );
  const manifest = {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'mcm' },
    spec: {
      version: `v${[...versions].join('')}`,
      shortDescription: 'Inspect and operate worker machines',
      description:
        'Explains MachineDeployments, MachineSets and Machines of a machine-controller-manager, plans changes, and shows the progress of rollouts.\n',
      platforms,
    },
  };
  const path = join(folder, 'mcm.yaml');
  await writeFile(path, stringify(manifest));
  return path;
}
