import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { counted } from '@mcm/api';
import { errorText, realClock } from '@mcm/kube';
import { findKubeconfigs, inCluster } from '../cluster/cluster.ts';
import type { AskFlags } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { version } from '../command/version.ts';
import { type ControllerFlags, controllerUrls, fetchJournals } from '../journal/controllers.ts';
import { formatted } from '../output/format.ts';
import { collectBundle } from './bundle.ts';
import { type BundleFile, localLogs } from './logs.ts';

export const writeBundle = (
  folder: string | undefined,
  flags: AskFlags & ControllerFlags,
  { say }: Pick<CommandEnvironment, 'say'>,
): Promise<void> =>
  inCluster(flags, 'debug', async (cluster) => {
    const now = realClock.now();
    const into = folder ?? `mcm-bundle-${now.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
    // Whether the flags select the local instance.
    const isLocal = findKubeconfigs(flags).every(
      (file) => resolve(file) === resolve(join(flags.dataDir, 'kubeconfig')),
    );
    const local = isLocal ? localLogs(flags.dataDir) : undefined;
    const journals = await fetchJournals(controllerUrls(flags));
    const files = await collectBundle(cluster, version(), now, local, journals);
    await writeFiles(into, files);
    const model = { folder: into, files: files.map(({ name }) => name) };
    const gaps = model.files.includes('errors.txt') ? ' (errors.txt lists the unreadable data)' : '';
    const text = `wrote ${counted(files.length, 'file')} to ${into}${gaps}. Review the files, then create an archive: tar czf ${into}.tgz ${into}`;
    for (const line of formatted(flags.output, model, () => [text])) say(line);
  });

async function writeFiles(folder: string, files: readonly BundleFile[]): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const there = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw new UserError(
      there ? `${folder} already exists; use another folder` : `cannot create ${folder}: ${errorText(error)}`,
    );
  }
  for (const { name, text } of files) await writeFile(join(folder, name), text, { mode: 0o600 });
}
