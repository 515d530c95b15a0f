import { machineDeployments, machines } from '@mcm/api';
import { type KubeObject, type Random, type ResourceDefinition, realClock } from '@mcm/kube';
import { readNodes } from '../cluster/allowed.ts';
import { type Cluster, inCluster } from '../cluster/cluster.ts';
import { type AskFlags, nameOf, reference } from '../cluster/cluster-options.ts';
import { readWithEnvironment } from '../cluster/deployment-reading.ts';
import { type Following, reportOrFollow, withoutDurations } from '../cluster/follow.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { readControllers } from '../controllers/read.ts';
import { formatted } from '../output/format.ts';
import { explainAsFarAsRead } from './deployment/deployment-as-read.ts';
import { deploymentLines } from './deployment/deployment-lines.ts';
import { explainMachine, type MachineTarget, previewMachineDrain } from './machine/machine.ts';
import { machineLines, previewLines } from './machine/machine-lines.ts';
import { readMachineSettings } from './settings/machine-settings.ts';
import { readManagerSettings } from './settings/manager-settings.ts';

type Asked = Pick<CommandEnvironment, 'say' | 'random'>;

export type ExplainFlags = AskFlags & { readonly selector?: string; readonly watch?: true };

export type DrainFlags = AskFlags & { readonly preview?: true };

export type Explained =
  | { readonly text: string }
  | { readonly kind: 'MachineDeployment' | 'Machine'; readonly selector: string };

interface Explanation {
  readonly model: object;
  readonly lines: (now: Date) => readonly string[];
}

export const reportWhy = (
  explained: Explained,
  flags: ExplainFlags,
  telling: Following & Pick<CommandEnvironment, 'random'>,
): Promise<void> =>
  inCluster(flags, 'explain', (cluster) => {
    let all: readonly Explanation[] = [];
    const read = async (): Promise<object> => {
      all = await explainEach(cluster, explained, telling.random);
      const models = all.map(({ model }) => model);
      return 'selector' in explained ? { items: models } : (models[0] ?? {});
    };
    return reportOrFollow(telling, flags, {
      read,
      text: () => textOf(all),
      watched: withoutDurations,
    });
  });

function textOf(all: readonly Explanation[]): readonly string[] {
  const now = realClock.now();
  return all.flatMap(({ lines }, index) => [...(index > 0 ? [''] : []), ...lines(now)]);
}

async function explainEach(cluster: Cluster, explained: Explained, random: Random): Promise<readonly Explanation[]> {
  if ('text' in explained) return [await explain(cluster, explained.text, random)];
  const { client, namespace } = cluster;
  const { kind, selector: labelSelector } = explained;
  const definition: ResourceDefinition<KubeObject> = kind === 'Machine' ? machines : machineDeployments;
  const { items } = await client.resource<KubeObject>(definition, namespace).list({ labelSelector });
  if (items.length === 0)
    throw new UserError(`no ${kind.toLowerCase()} in namespace ${namespace} has the labels ${labelSelector}`);
  const found: Explanation[] = [];
  for (const { metadata } of items)
    found.push(await explain(cluster, `${kind.toLowerCase()}/${metadata.name}`, random));
  return found;
}

async function explain(cluster: Cluster, text: string, random: Random): Promise<Explanation> {
  const { kind, name } = reference(text);
  if (kind === 'Machine') {
    const model = await explainMachine(machineTarget(cluster, name, random));
    return { model, lines: (now) => machineLines(model, now) };
  }
  if (kind === 'MachineDeployment') return explainNamed(cluster, name);
  throw new UserError(`cannot explain "${text}"; write machinedeployment/NAME or machine/NAME`);
}

async function explainNamed({ client, target, namespace, programs }: Cluster, name: string): Promise<Explanation> {
  const unread = new Set<string>();
  const environment = readWithEnvironment(client, namespace, name, unread);
  const assessed = environment.then(({ deployment, fleet: around = [] }) =>
    readControllers({ client, namespace, clock: realClock, deployments: [deployment], machines: around, programs }),
  );
  const [reading, controllers, manager, ofMachines, nodes] = await Promise.all([
    environment,
    assessed,
    readManagerSettings(client, namespace),
    readMachineSettings(client, namespace),
    readNodes(target, unread),
  ]);
  const around = { now: realClock.now(), nodes, manager, ofMachines, controllers };
  const explanation = { ...explainAsFarAsRead(reading, around), unread: [...unread] };
  const model = { kind: 'MachineDeployment', namespace, ...explanation };
  return { model, lines: (now) => deploymentLines(explanation, now) };
}

const machineTarget = (
  { client, target, namespace, programs }: Cluster,
  name: string,
  random: Random,
): MachineTarget => ({
  client,
  target,
  namespace,
  programs,
  name,
  clock: realClock,
  random,
  // The command only reads, so a signal may end the process at any time.
  signal: new AbortController().signal,
});

/**
 * Runs the command `mcm drain`. Without `--preview`, the command fails with a `UserError` if the machine is not in
 * deletion. If a part of the drain is unknown, the command prints the known part, and then fails with a `UserError`.
 */
export const reportDrain = (text: string, flags: DrainFlags, { say, random }: Asked): Promise<void> =>
  inCluster(flags, 'drain', async (cluster) => {
    const name = nameOf('Machine', text);
    const preview = await previewMachineDrain(machineTarget(cluster, name, random));
    if (!preview.inDeletion && flags.preview === undefined)
      throw new UserError(
        `machine ${name} is not in deletion; add --preview to show the drain in advance, or delete the machine`,
      );
    const model = { namespace: cluster.namespace, ...preview };
    for (const line of formatted(flags.output, model, () => previewLines(preview, realClock.now()))) say(line);
    if (preview.drain === null && preview.node !== null && preview.unread.length > 0)
      throw new UserError(`cannot show the drain of machine ${name}: no permission to read some objects`);
  });
