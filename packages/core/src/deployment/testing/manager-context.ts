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
import {
  type Clock,
  createInformer,
  createRecorder,
  type KubeClient,
  type Logger,
  type Node,
  nodes,
  type Random,
  type RolloutPermit,
} from '@mcm/kube';
import {
  type ControllerContext,
  machineIndexes,
  machineSetIndexes,
  nodeIndexes,
  projectMachine,
  projectNode,
} from '../../control/caches.ts';
import { CreationsUnderWay } from '../../control/expectations.ts';
import { orderedClient } from '../../control/own-writes.ts';
import { DisruptionReport } from '../../disruption/report/report.ts';
import { SAFEGUARD_DEFAULTS, type SafeguardSettings, Safeguards } from '../../disruption/safeguards.ts';
import { DisruptionsUnderWay } from '../../disruption/under-way.ts';
import type { Journal } from '../../journal/journal.ts';
import { CanaryChecks } from '../../rollout/canary-checks.ts';

interface Parts {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly safeguards: Partial<SafeguardSettings>;
  readonly journal?: Journal | undefined;
  readonly blockedBy?: boolean;
  readonly rollouts?: RolloutPermit | undefined;
  readonly reports?: boolean | undefined;
  readonly traceIdOf?: ControllerContext['traceIdOf'];
}

export function managerContext({
  client,
  namespace,
  safeguards: settings,
  rollouts,
  reports,
  ...shared
}: Parts): ControllerContext {
  const runtime = { ...shared, namespace, freeze: true };
  const classes = createInformer<MachineClass>(client, machineClasses, runtime);
  const cached = createInformer<Machine>(client, machines, {
    ...runtime,
    indexes: machineIndexes,
    project: projectMachine,
  });
  const nodeInformer = createInformer<Node>(client, nodes, {
    ...shared,
    freeze: true,
    indexes: nodeIndexes,
    project: projectNode,
  });
  const safeguards = new Safeguards(
    { machines: cached, classes, nodes: nodeInformer },
    { ...SAFEGUARD_DEFAULTS, ...settings },
  );
  const deployments = createInformer<MachineDeployment>(client, machineDeployments, runtime);
  const sets = createInformer<MachineSet>(client, machineSets, { ...runtime, indexes: machineSetIndexes });
  return {
    client: orderedClient(client, [deployments, sets]),
    namespace,
    deployments,
    sets,
    machines: cached,
    nodes: { client, informer: nodeInformer },
    creations: new CreationsUnderWay(),
    disruptions: new DisruptionsUnderWay(),
    safeguards,
    report: reports ? new DisruptionReport(safeguards) : undefined,
    recorder: createRecorder({ client, component: 'machine-controller-manager', ...shared }),
    canaryChecks: new CanaryChecks(),
    rollouts,
    protectNewNodes: true,
    ...shared,
  };
}
