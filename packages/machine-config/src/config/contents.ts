import { createHash } from 'node:crypto';
import { DataUrlError, type IgnitionConfig, type IgnitionFile, parseDataUrl } from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { RenderError } from './error.ts';
import { ignitionOf } from './parsed.ts';

/**
 * Finds files that became invalid in the merge, although Ignition accepts the result.
 * @throws RenderError naming file and MachineConfig
 */
export function checkContents(merged: IgnitionConfig, sources: readonly MachineConfig[]): void {
  for (const file of merged.storage?.files ?? []) {
    if (file.contents?.verification?.hash !== undefined) checkHash(file);
    if (isUnmarkedGzip(file)) checkMark(file, sources);
  }
}

function checkHash({ path, contents }: IgnitionFile): void {
  const { source = '', verification } = contents ?? {};
  const [algorithm = '', wanted = ''] = (verification?.hash ?? '').split('-');
  const data = dataOf(source);
  if (data === undefined) return;
  if (createHash(algorithm).update(data).digest('hex') === wanted.toLowerCase()) return;
  throw new RenderError(
    `file ${path}: its content does not have the hash in spec.config.storage.files[].contents.verification. ` +
      'Write the hash of the new content to the field',
  );
}

const dataOf = (source: string): Buffer | undefined => {
  if (!source.startsWith('data:')) return undefined;
  try {
    return parseDataUrl(source).data;
  } catch (error) {
    if (error instanceof DataUrlError) return undefined;
    throw error;
  }
};

/** Returns true if the content starts with the first bytes of gzip, although the field `compression` is not set. */
const isUnmarkedGzip = ({ contents }: IgnitionFile): boolean =>
  !contents?.compression && /^data:[^,]*;base64,H4sI/.test(contents?.source ?? '');

/**
 * Refuses a compressed file if a later MachineConfig removes the field `compression` of the file. If no MachineConfig
 * sets the field `compression`, the file is meant to be an archive.
 */
function checkMark({ path, contents }: IgnitionFile, sources: readonly MachineConfig[]): void {
  let marked = false;
  for (const machineConfig of sources) {
    const file = ignitionOf(machineConfig)?.storage?.files?.find((candidate) => candidate.path === path);
    if (!file) continue;
    if (file.contents?.source === contents?.source) marked = file.contents?.compression === 'gzip';
    else if (marked && file.contents?.source === undefined) {
      throw new RenderError(
        `file ${path}: MachineConfig ${machineConfig.metadata.name} defines the file without contents.source, ` +
          'so a node would receive compressed content; set contents.source',
      );
    }
  }
}
