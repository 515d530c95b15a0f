import { DaemonPaths } from '../config/daemon-paths.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { type NodeDisk, readText } from './disk/disk.ts';
import type { Journal } from './disk/journal.ts';
import { splitArguments } from './disk/kernel-arguments.ts';

export async function bootConfig(disk: NodeDisk): Promise<string | undefined> {
  const text = await readText(disk, DaemonPaths.NodeAnnotations);
  if (text === undefined) return undefined;
  const annotations: unknown = JSON.parse(text);
  if (typeof annotations !== 'object' || annotations === null) return undefined;
  const current = Object.entries(annotations).find(([key]) => key.endsWith('/currentConfig'))?.[1];
  return typeof current === 'string' ? current : undefined;
}

export async function forgetBootConfig(disk: NodeDisk): Promise<void> {
  const read = await disk.read(DaemonPaths.NodeAnnotations);
  if (read) await disk.put(DaemonPaths.NodeAnnotationsRead, read);
  await disk.remove(DaemonPaths.NodeAnnotations);
}

/**
 * Returns the remaining steps of the first boot: the kernel arguments, because Ignition does not set them, and the
 * reboot.
 */
export function firstBootJournal(config: MachineConfig, line: string, bootId: string): Journal | undefined {
  const left = [...splitArguments([line])];
  const wanted = splitArguments(config.spec?.kernelArguments ?? []);
  const present = wanted.filter((argument) => {
    const index = left.indexOf(argument);
    if (index >= 0) left.splice(index, 1);
    return index >= 0;
  });
  if (present.length === wanted.length) return undefined;
  const from: MachineConfig = { ...config, spec: { ...config.spec, kernelArguments: present } };
  return { phase: 'applying', first: true, from, to: config, actions: [{ type: 'Reboot' }], commandLine: line, bootId };
}
