import {
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type Known, knownOf, scrub, scrubbedJournal, scrubber } from '@mcm/core';
import {
  conform,
  errorText,
  events,
  type KubeClient,
  type KubeObject,
  leases,
  type Node,
  nodes,
  podDisruptionBudgets,
  pods,
  type ResourceDefinition,
  type Secret,
  secrets,
  volumeAttachments,
  withoutUndefined,
} from '@mcm/kube';
import { stringify } from 'yaml';
import type { Cluster } from '../cluster/cluster.ts';
import type { FetchedJournals } from '../journal/controllers.ts';
import { fleetTree, treeLines } from '../tree/tree.ts';
import { type BundleFile, type CollectedLogs, podLogs } from './logs.ts';

function reported(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata }: KubeObject['metadata'] & { managedFields?: unknown } = object.metadata;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => !key.endsWith('last-applied-configuration'),
  );
  return {
    ...object,
    metadata: {
      ...metadata,
      ...withoutUndefined({ annotations: metadata.annotations ? Object.fromEntries(annotations) : undefined }),
    },
  };
}

/**
 * Returns an object with only a few fields of `spec` and `status`. The environment of containers is removed, because it
 * may contain secrets.
 */
const slim = ({ metadata, spec, status, ...rest }: KubeObject & { spec?: object; status?: object }): KubeObject => {
  const keep = [
    'nodeName',
    'priority',
    'priorityClassName',
    'terminationGracePeriodSeconds',
    'tolerations',
    'nodeSelector',
  ];
  const of = (part: object | undefined, keys: readonly string[]): object =>
    Object.fromEntries(Object.entries(part ?? {}).filter(([key]) => keys.includes(key)));
  const slimmed = {
    spec: of(spec, keep),
    status: of(status, ['phase', 'conditions', 'reason', 'message', 'startTime']),
  };
  return { ...rest, metadata, ...slimmed };
};

interface Source {
  readonly file: string;
  readonly client: KubeClient;
  readonly definition: ResourceDefinition<KubeObject>;
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly project?: (object: KubeObject) => KubeObject;
}

type Stored = Pick<Cluster, 'client' | 'target'>;

const sourcesOf = ({ client, target }: Stored, namespace: string): readonly Source[] => [
  ...[machineDeployments, machineSets, machines, machineClasses, leases].map((definition) => ({
    file: definition.plural,
    client,
    definition,
    namespace,
  })),
  { file: 'events', client, definition: events, namespace },
  ...(namespace === 'default' && client === target
    ? []
    : [
        {
          file: 'node-events',
          client: target,
          definition: events,
          namespace: 'default',
          fieldSelector: 'involvedObject.kind=Node',
        },
      ]),
  { file: 'nodes', client: target, definition: nodes },
  { file: 'pods', client: target, definition: pods, project: slim },
  ...[podDisruptionBudgets, volumeAttachments].map((definition) => ({
    file: definition.plural,
    client: target,
    definition,
  })),
];

/**
 * Reads the Secrets of the classes, because their values must be removed from all texts. If one Secret cannot be read,
 * the values of the other Secrets are still removed.
 */
async function knownSecrets(
  { client, namespace }: Cluster,
  classes: readonly MachineClass[],
  errors: string[],
): Promise<Known> {
  const api = client.resource<Secret>(secrets, namespace);
  const names = new Set(
    classes.flatMap(({ secretRef, credentialsSecretRef }) =>
      [secretRef?.name, credentialsSecretRef?.name].filter((name) => name !== undefined),
    ),
  );
  const read = [...names].map((name) =>
    api.get(name).catch((error: unknown) => {
      errors.push(`cannot read Secret ${name}, so its values may remain in the files: ${errorText(error)}`);
      return undefined;
    }),
  );
  return knownOf((await Promise.all(read)).filter((secret) => secret !== undefined));
}

/**
 * Collects the data that shows the state of the machines: objects, events, Leases, the tree, and controller logs.
 * - The bundle contains no Secrets and no environment variables of pods. Known secrets, and texts that look like
 *   secrets, become `***` in the bundle.
 * - `errors.txt` lists the data that mcm could not read.
 *
 * @param local the logs of a local instance
 * @param journals the journals of the controllers
 */
export async function collectBundle(
  cluster: Cluster,
  version: string,
  now: Date,
  local: CollectedLogs = { files: [], errors: [] },
  journals: FetchedJournals = { found: [], problems: [] },
): Promise<BundleFile[]> {
  const errors: string[] = [...local.errors, ...journals.problems.map((problem) => `journal: ${problem}`)];
  const objects = new Map<string, readonly KubeObject[]>();
  for (const { file, client, definition, namespace, fieldSelector, project } of sourcesOf(
    cluster.asStored ?? cluster,
    cluster.namespace,
  )) {
    try {
      const { items } = await client
        .resource(definition, namespace)
        .list(fieldSelector === undefined ? {} : { fieldSelector });
      objects.set(file, items.map(reported).map(project ?? ((object) => object)));
    } catch (error) {
      errors.push(`${file}: ${errorText(error)}`);
    }
  }
  const of = <T extends KubeObject>(file: string, { shape = {} }: ResourceDefinition<T>): readonly T[] =>
    (objects.get(file) ?? []).map((object) => {
      const copy = structuredClone(object) as T;
      for (const { field, problem } of conform(copy, shape)) {
        errors.push(`${file}: ${copy.metadata.name} is malformed: ${field} ${problem}`);
      }
      return copy;
    });
  const known = await knownSecrets(cluster, of<MachineClass>('machineclasses', machineClasses), errors);
  const tree = fleetTree({
    deployments: of<MachineDeployment>('machinedeployments', machineDeployments),
    sets: of<MachineSet>('machinesets', machineSets),
    machines: of<Machine>('machines', machines),
    nodes: objects.has('nodes') ? of<Node>('nodes', nodes) : undefined,
  });
  const ofPods = await podLogs(cluster);
  errors.push(...ofPods.errors);
  const about = { collected: now.toISOString(), mcm: version, namespace: cluster.namespace };
  const files = [
    { name: 'about.yaml', text: stringify(about) },
    { name: 'tree.txt', text: `${treeLines(tree, true, now).join('\n')}\n` },
    ...[...objects].map(([file, items]) => ({
      name: `${file}.yaml`,
      text: stringify({ kind: 'List', items }, { aliasDuplicateObjects: false }),
    })),
    ...local.files,
    ...ofPods.files,
    ...(errors.length > 0 ? [{ name: 'errors.txt', text: `${errors.join('\n')}\n` }] : []),
  ].map(({ name, text }) => ({ name, text: scrub(text, known) }));
  return [...files, ...journalFiles(journals, known)];
}

/** Returns the files with the journals. The values of Secrets are removed, and each line stays valid JSON. */
function journalFiles({ found }: FetchedJournals, known: Known): BundleFile[] {
  const clean = scrubber(known);
  return found.map(({ lines, journal }) => ({
    name: `journal-${journal.controller.replaceAll(/[^a-z0-9-]/g, '')}.ndjson`,
    text: scrubbedJournal(lines, clean).join('\n'),
  }));
}
