import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errorText } from '@mcm/kube';
import type { Cluster } from '../cluster/cluster.ts';

export interface BundleFile {
  readonly name: string;
  readonly text: string;
}

const TAIL_LINES = 2_000;
const APPS = ['machine-controller-manager', 'machine-config-controller', 'machine-config-daemon'];
const NAME_LABEL = 'app.kubernetes.io/name';

export interface CollectedLogs {
  readonly files: readonly BundleFile[];
  readonly errors: readonly string[];
}

const tailOf = (text: string): string => text.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');

export function localLogs(dataDir: string): CollectedLogs {
  const folder = join(dataDir, 'logs');
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return { files: [], errors: [] };
  const files: BundleFile[] = [];
  const errors: string[] = [];
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.log'))) {
    try {
      const text = tailOf(readFileSync(join(folder, name), 'utf8'));
      files.push({ name: `log-${basename(name, '.log')}.txt`, text: `${text}\n` });
    } catch (error) {
      errors.push(`log ${name}: ${errorText(error)}`);
    }
  }
  return { files, errors };
}

interface LoggingPod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly containers: readonly { readonly name: string }[] };
  readonly status?: {
    readonly containerStatuses?: readonly { readonly name: string; readonly restartCount?: number }[];
  };
}

/** Returns the logs of all pods of an installation in a namespace. */
export async function podLogs({ client, namespace, text }: Cluster): Promise<CollectedLogs> {
  const files: BundleFile[] = [];
  const errors: string[] = [];
  if (text === undefined) return { files, errors };
  const pods = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const selector = encodeURIComponent(`${NAME_LABEL} in (${APPS.join(',')})`);
  try {
    const { items } = await client.request<{ items: readonly LoggingPod[] }>(
      'GET',
      `${pods}?labelSelector=${selector}`,
    );
    for (const { metadata, spec, status } of items)
      for (const { name } of spec.containers) {
        const restarts = status?.containerStatuses?.find((one) => one.name === name)?.restartCount ?? 0;
        for (const previous of restarts > 0 ? [false, true] : [false]) {
          const file = `log-${metadata.name}-${name}${previous ? '-previous' : ''}.txt`;
          const query = `container=${encodeURIComponent(name)}&tailLines=${TAIL_LINES}&previous=${previous}`;
          try {
            files.push({ name: file, text: await text(`${pods}/${encodeURIComponent(metadata.name)}/log?${query}`) });
          } catch (error) {
            errors.push(`${file}: ${errorText(error)}`);
          }
        }
      }
  } catch (error) {
    errors.push(`logs of pods: ${errorText(error)}`);
  }
  return { files, errors };
}
