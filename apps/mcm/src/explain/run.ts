import { type Random, realClock } from '@mcm/kube';
import { readNodes } from '../cluster/allowed.ts';
import { type Cluster, inCluster } from '../cluster/cluster.ts';
import { type AskFlags, nameOf, reference } from '../cluster/cluster-options.ts';
import { readWithEnvironment } from '../cluster/deployment-reading.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { readControllers } from '../controllers/read.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { explainAsFarAsRead } from './deployment/deployment-as-read.ts';
import { deploymentLines } from './deployment/deployment-lines.ts';
import { explainMachine, type MachineTarget, previewMachineDrain } from './machine/machine.ts';
import { machineLines, previewLines } from './machine/machine-lines.ts';
import { readMachineSettings } from './settings/machine-settings.ts';
import { readManagerSettings } from './settings/manager-settings.ts';

type Asked = Pick<CommandEnvironment, 'say' | 'random'>;

/** `mcm explain`. */
export const reportWhy = (text: string, flags: AskFlags, { say, random }: Asked): Promise<void> =>
  inCluster(flags, 'explain', async (cluster) => {
    for (const line of await explain(cluster, text, flags.output, random)) say(line);
  });

async function explain(cluster: Cluster, text: string, output: OutputFormat, random: Random): Promise<string[]> {
  const { kind, name } = reference(text);
  const { namespace } = cluster;
  if (kind === 'Machine') {
    const explanation = await explainMachine(machineTarget(cluster, name, random));
    return formatted(output, explanation, () => machineLines(explanation, realClock.now()));
  }
  if (kind !== 'MachineDeployment') {
    throw new UserError(`cannot explain "${text}"; write machinedeployment/NAME or machine/NAME`);
  }
  const { client } = cluster;
  const unread = new Set<string>();
  const environment = readWithEnvironment(client, namespace, name, unread);
  const assessed = environment.then(({ deployment, fleet: machines = [] }) =>
    readControllers({ client, namespace, clock: realClock, deployments: [deployment], machines }),
  );
  const [reading, controllers, manager, ofMachines, nodes] = await Promise.all([
    environment,
    assessed,
    readManagerSettings(client, namespace),
    readMachineSettings(client, namespace),
    readNodes(cluster.target, unread),
  ]);
  const now = realClock.now();
  const reported = explainAsFarAsRead(reading, { now, nodes, manager, ofMachines, controllers });
  const explanation = { ...reported, unread: [...unread] };
  return formatted(output, { kind, namespace, ...explanation }, () => deploymentLines(explanation, now));
}

const machineTarget = ({ client, target, namespace }: Cluster, name: string, random: Random): MachineTarget => ({
  client,
  target,
  namespace,
  name,
  clock: realClock,
  random,
  // The command only reads, so a signal may end the process at any time.
  signal: new AbortController().signal,
});

/**
 * Runs `mcm drain --preview`. If the drain is not known, the command prints the known part and then throws `UserError`.
 */
export const reportDrain = (text: string, flags: AskFlags, { say, random }: Asked): Promise<void> =>
  inCluster(flags, 'drain', async (cluster) => {
    const name = nameOf('Machine', text);
    const preview = await previewMachineDrain(machineTarget(cluster, name, random));
    const model = { namespace: cluster.namespace, ...preview };
    for (const line of formatted(flags.output, model, () => previewLines(preview, realClock.now()))) say(line);
    if (preview.drain === null && preview.node !== null && preview.unread.length > 0)
      throw new UserError(`cannot preview the drain of machine ${name}: no permission to read some objects`);
  });
