import { join } from 'node:path';
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
import { conformingClient, createClient, loadKubeconfig, realClock, undiciTransport } from '@mcm/kube';
import { inWords } from '../cluster/cluster.ts';
import { disruptionLines, readDisruptions, type ScopeDisruptions } from '../cluster/disruptions.ts';
import { type QuarantinedVm, quarantinedIn, quarantineLines } from '../cluster/quarantine.ts';
import { NOT_RUNNING } from '../command/exit-codes.ts';
import { version } from '../command/version.ts';
import { controllerLines } from '../controllers/health.ts';
import { readControllers } from '../controllers/read.ts';
import { inspectDataDir } from '../instance/data-dir.ts';
import { silentProgramsOf } from '../instance/local-instance.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { type FleetView, viewFleet } from '../screen/fleet.ts';
import { FIRST_FLEET } from './seed.ts';

type StatusReport =
  | { readonly running: false }
  | {
      readonly running: true;
      readonly pid: number;
      readonly server: string;
      readonly fleet: FleetView;
      readonly quarantinedVms: readonly QuarantinedVm[];
      readonly disruptions: readonly ScopeDisruptions[];
    };

/** @throws KubeError if its control plane does not respond */
async function status(dataDir: string, kubeconfigPath: string): Promise<StatusReport> {
  const found = inspectDataDir(dataDir);
  if (!found?.running) return { running: false };
  const kubeconfig = await loadKubeconfig(kubeconfigPath);
  const transport = undiciTransport(kubeconfig);
  const stored = createClient({ transport, userAgent: `mcm/${version()} (status)`, clock: realClock });
  const client = conformingClient(stored, () => undefined);
  const read = { namespace: FIRST_FLEET.namespace };
  const [deployments, sets, all, classes, disruptions] = await Promise.all([
    client.resource<MachineDeployment>(machineDeployments, read.namespace).list(),
    client.resource<MachineSet>(machineSets, read.namespace).list(),
    client.resource<Machine>(machines, read.namespace).list(),
    client.resource<MachineClass>(machineClasses, read.namespace).list(),
    readDisruptions(client, read.namespace),
  ]);
  const objects = { deployments: deployments.items, machines: all.items };
  const programs = () => silentProgramsOf(dataDir);
  const controllers = await readControllers({ client, ...read, clock: realClock, ...objects, programs });
  await transport.close();
  return {
    running: true,
    pid: found.state.pid,
    server: kubeconfig.server,
    fleet: viewFleet(deployments.items, sets.items, all.items, [], controllers),
    quarantinedVms: quarantinedIn(classes.items),
    disruptions,
  };
}

export async function reportStatus(dataDir: string, output: OutputFormat, say: (line: string) => void): Promise<void> {
  const kubeconfig = join(dataDir, 'kubeconfig');
  const report = await status(dataDir, kubeconfig).catch((error: unknown) => {
    throw inWords(error, { dataDir, kubeconfig });
  });
  for (const line of formatted(output, statusModel(report), () => statusLines(report, realClock.now()))) say(line);
  process.exitCode = report.running ? 0 : NOT_RUNNING;
}

const statusModel = (report: StatusReport): object =>
  report.running ? { ...report, fleet: { ...report.fleet, phases: Object.fromEntries(report.fleet.phases) } } : report;

export function statusLines(report: StatusReport, now: Date): string[] {
  if (!report.running) return ['not running'];
  const phases = [...report.fleet.phases].map(([phase, count]) => `${count} ${phase}`).join(', ');
  return [
    `running (process ${report.pid}) at ${report.server}`,
    ...report.fleet.deployments.map(
      (d) =>
        `machinedeployment ${d.name}: ${d.available}/${d.desired} available, ${d.updated} updated${d.old > 0 ? `, ${d.old} old` : ''}${d.problem ? ` (${d.problem})` : ''}`,
    ),
    `machines: ${phases === '' ? 'none' : phases}`,
    ...disruptionLines(report.disruptions),
    ...controllerLines(report.fleet.controllers, now),
    ...quarantineLines(report.quarantinedVms).map((line) => `quarantine: ${line}`),
  ];
}
