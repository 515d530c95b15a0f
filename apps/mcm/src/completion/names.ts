import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type MachineDeployment, machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import { parseZones } from '@mcm/core';
import {
  type Clock,
  type KubeClient,
  type KubeObject,
  namespaces,
  type ResourceDefinition,
  realClock,
} from '@mcm/kube';
import { parse } from 'yaml';
import { type ClusterFlags, connect, findKubeconfigs } from '../cluster/cluster.ts';
import { DEFAULT_DATA_DIR } from '../command/environment.ts';
import { seedMembers } from '../members/members.ts';
import { peersIn } from '../members/peers.ts';
import { readSource } from '../members/source.ts';
import { profilesWith } from '../members/source-objects.ts';
import { otherNamesOf, typesOf } from './objects.ts';

/**
 * The maximum duration of a completion, so that an unreachable cluster does not block the prompt of a shell. On a busy
 * computer, the first response of a cluster can take several seconds.
 */
const TIME_MS = 10_000;

const POOLS: ResourceDefinition<KubeObject> = {
  group: 'machineconfiguration.openshift.io',
  version: 'v1',
  plural: 'machineconfigpools',
  kind: 'MachineConfigPool',
  namespaced: false,
};

const PROVIDERS = ['local', 'aws', 'azure', 'gcp'];

const TYPES: Readonly<Record<string, ResourceDefinition<KubeObject>>> = {
  machinedeployment: machineDeployments,
  machineset: machineSets,
  machine: machines,
  machineclass: machineClasses,
  pool: POOLS,
};

export interface Line {
  readonly path: string;
  readonly before: readonly string[];
  readonly begun: string;
  readonly flag?: string;
}

const flagValue = (words: readonly string[], ...flags: readonly string[]): string | undefined =>
  words.flatMap((word, index) => {
    const name = flags.find((flag) => word === flag || word.startsWith(`${flag}=`));
    return name === undefined ? [] : [word === name ? (words[index + 1] ?? '') : word.slice(name.length + 1)];
  })[0];

function flagsOf({ before }: Line): ClusterFlags {
  const [kubeconfig, context] = [flagValue(before, '--kubeconfig'), flagValue(before, '--context')];
  const namespace = flagValue(before, '-n', '--namespace');
  return {
    dataDir: flagValue(before, '--data-dir') ?? DEFAULT_DATA_DIR,
    kubeconfig: kubeconfig || undefined,
    context: context || undefined,
    namespace: namespace || undefined,
  };
}

/**
 * Returns the objects, contexts, namespaces or log files with which the command line can continue. After an error, the
 * list is empty, because a completion cannot print a message.
 */
export async function namesFor(line: Line, clock: Clock = realClock): Promise<readonly string[]> {
  const limit = new AbortController();
  const timer = clock.setTimeout(() => limit.abort(new Error('no answer')), TIME_MS);
  try {
    return (await candidates({ ...line, signal: limit.signal })).filter((name) => name.startsWith(line.begun));
  } catch {
    return []; // The command itself will report the error, so the completion ignores it.
  } finally {
    timer.cancel();
  }
}

type Limited = Line & { readonly signal: AbortSignal };

async function candidates(line: Limited): Promise<readonly string[]> {
  if (line.flag !== undefined) return valuesOf(line.flag, line);
  const last = line.before.at(-1) ?? '';
  const other = otherNamesOf(line.path);
  if (other !== undefined) return OTHER_NAMES[other](line);
  const types = typesOf(line.path);
  if (types.length === 0) return [];
  const [type] = line.begun.includes('/') ? line.begun.split('/') : [undefined];
  const definition = TYPES[type ?? last];
  if (definition !== undefined && types.includes(type ?? last)) {
    const names = await listed(line, (client, namespace) => namesOf(client, definition, namespace, line));
    return type === undefined ? names : names.map((name) => `${type}/${name}`);
  }
  const cluster = line.path === 'explain' ? clusterBefore(line.begun) : undefined;
  const all = await listed(line, async (client, given) => {
    const namespace = cluster ?? given;
    const found = types.map(async (each, index) => {
      const kind = TYPES[each];
      const names = kind === undefined ? [] : await namesOf(client, kind, namespace, line);
      const isShort = index === 0 && line.path !== 'explain';
      return [...(isShort ? names : []), ...names.map((name) => `${each}/${name}`)];
    });
    return (await Promise.all(found)).flat();
  });
  return cluster === undefined ? all : all.map((name) => `${cluster}/${name}`);
}

/** Returns the cluster in `CLUSTER/TYPE/NAME`. */
function clusterBefore(begun: string): string | undefined {
  const [cluster = '', ...more] = begun.split('/');
  return more.length === 0 || cluster in TYPES ? undefined : cluster;
}

async function valuesOf(flag: string, line: Limited): Promise<readonly string[]> {
  switch (flag) {
    case '--context':
      return contextsOf(flagsOf(line));
    case '-n':
    case '--namespace':
      return listed(line, (client) => namesOf(client, namespaces, undefined, line));
    case '--machine':
      return listed(line, (client, namespace) => namesOf(client, machines, namespace, line));
    case '--deployment':
      return listed(line, (client, namespace) => namesOf(client, machineDeployments, namespace, line));
    case '--pool':
      return listed(line, (client) => namesOf(client, POOLS, undefined, line));
    case '--to':
      return replicasOf(line);
    case '--cluster':
      return clustersOf(line);
    case '--provider':
      return PROVIDERS;
    default:
      return [];
  }
}

async function listed(
  line: Limited,
  list: (client: KubeClient, namespace: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const cluster = await connect(flagsOf(line), 'completion', process.env, () => undefined);
  try {
    return await list(cluster.client, cluster.namespace);
  } finally {
    await cluster.close();
  }
}

async function namesOf(
  client: KubeClient,
  definition: ResourceDefinition<KubeObject>,
  namespace: string | undefined,
  { signal }: Limited,
): Promise<readonly string[]> {
  const within = definition.namespaced ? namespace : undefined;
  const { items } = await client.resource(definition, within).list({ signal });
  return items.map(({ metadata }) => metadata.name).sort();
}

function contextsOf(flags: ClusterFlags): readonly string[] {
  return findKubeconfigs(flags).flatMap((file) => {
    const config: unknown = parse(readFileSync(file, 'utf8'));
    const { contexts } = config as { readonly contexts?: readonly { readonly name?: unknown }[] };
    return (contexts ?? []).flatMap(({ name }) => (typeof name === 'string' ? [name] : []));
  });
}

const logsOf = (dataDir: string): readonly string[] =>
  readdirSync(join(dataDir, 'logs')).flatMap((name) => (name.endsWith('.log') ? [basename(name, '.log')] : []));

/** Returns the zones of all deployments in the namespace. */
const zonesOf = (line: Limited): Promise<readonly string[]> =>
  listed(line, async (client, namespace) => {
    const within = line.before.some((word) => ['-A', '--all-namespaces'].includes(word)) ? undefined : namespace;
    const { items } = await client
      .resource<MachineDeployment>(machineDeployments, within)
      .list({ signal: line.signal });
    const zones = items.flatMap((deployment) => parseZones(deployment).setting?.zones ?? []);
    return [...new Set(zones.map(({ name }) => name))].sort();
  });

/** Returns the replicas of a fleet. */
const replicasOf = (line: Limited): Promise<readonly string[]> =>
  listed(line, async (client, namespace) => {
    const peers = await peersIn(client, namespace, line.signal);
    return [...new Set(peers.map(({ replica }) => replica))].sort();
  });

/** Returns the names of all clusters of a fleet. */
const clustersOf = (line: Limited): Promise<readonly string[]> =>
  listed(line, async (client, namespace) => {
    const { signal } = line;
    const source = await readSource(client, namespace, undefined, signal);
    if (source.flag === 'fleet-cluster-profiles')
      return (await profilesWith(client, namespace, source.selector, signal))
        .map(({ metadata }) => metadata.name)
        .sort();
    return (await seedMembers(client, source, signal)).map(({ cluster }) => cluster).sort();
  });

const OTHER_NAMES: Readonly<
  Record<NonNullable<ReturnType<typeof otherNamesOf>>, (line: Limited) => Promise<readonly string[]>>
> = {
  logs: async (line) => logsOf(flagsOf(line).dataDir),
  zones: zonesOf,
  replicas: replicasOf,
  clusters: clustersOf,
};
