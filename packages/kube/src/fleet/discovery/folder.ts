import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../../base/error-text.ts';
import { createOutageLog } from '../../base/outage-log.ts';
import { type Clock, pause } from '../../clock/clock.ts';
import type { Logger } from '../../contract/logger.ts';
import type { Discovered, Discovery } from '../member.ts';

const LOOK_MS = 10_000;

const FILE = /^(?<name>[a-z0-9]([-a-z0-9.]*[a-z0-9])?)\.(kubeconfig|yaml|yml)$/;

export function folderDiscovery(folder: string, { clock, log }: { clock: Clock; log: Logger }): Discovery {
  const outage = createOutageLog(`the folder of kubeconfigs ${folder}`, clock, log);
  return {
    source: folder,
    run: async (found, signal) => {
      let known: ReadonlySet<string> = new Set();
      while (!signal.aborted) {
        try {
          known = await look(folder, known, found);
          outage.worked();
        } catch (error) {
          outage.failed(error);
        }
        await pause(clock, LOOK_MS, signal);
      }
    },
  };
}

async function look(folder: string, known: ReadonlySet<string>, found: Discovered): Promise<ReadonlySet<string>> {
  const files = (await readdir(folder)).filter((file) => !file.startsWith('.')).sort();
  const byName = Map.groupBy(files, (file) => FILE.exec(file)?.groups?.name ?? '');
  byName.delete('');
  for (const [name, [file = '', ...more]] of byName) {
    const path = join(folder, file);
    if (more.length > 0) {
      found.refuse(name, `${path} and ${more.join(', ')} contain the same cluster; keep only one of the files`);
      continue;
    }
    try {
      const kubeconfig = await readFile(path, 'utf8');
      found.engage({ name, namespace: undefined, kubeconfig, source: path, folder, about: undefined });
    } catch (error) {
      found.refuse(name, `${path} cannot be read: ${errorText(error)}`);
    }
  }
  for (const name of known) if (!byName.has(name)) found.disengage(name);
  return new Set(byName.keys());
}
