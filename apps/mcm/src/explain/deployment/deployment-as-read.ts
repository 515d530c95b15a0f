import { counted, type MachineDeployment, selectorMatches } from '@mcm/api';
import { type Node, withoutUndefined } from '@mcm/kube';
import { ownedBy, type ReadableEnvironment } from '../../cluster/deployment-reading.ts';
import type { ControllerHealth } from '../../controllers/health.ts';
import { explanationUnder } from '../reasons/stopped-controllers.ts';
import type { MachineSettings } from '../settings/machine-settings.ts';
import type { ManagerSettings } from '../settings/manager-settings.ts';
import { type DeploymentExplanation, explainDeployment, stoppedBy, withoutStep } from './deployment.ts';

interface Around {
  readonly now: Date;
  readonly nodes: readonly Node[] | undefined;
  readonly manager: ManagerSettings;
  readonly ofMachines: MachineSettings;
  readonly controllers: readonly ControllerHealth[];
}

/** Explains a deployment whose sets or machines the user may not read. */
export function explainAsFarAsRead(
  { deployment, sets, fleet, classes, others }: ReadableEnvironment,
  { now, nodes, manager, ofMachines, controllers }: Around,
): DeploymentExplanation {
  if (sets && fleet) {
    const around = withoutUndefined({ controllers, classes, others });
    const reading = { ...ownedBy(deployment, { sets, fleet }), ...around };
    return explainDeployment(reading, now, nodes, manager, ofMachines);
  }
  const machines = fleet?.filter(({ metadata }) => selectorMatches(deployment.spec.selector, metadata.labels)) ?? [];
  const { sets: own } = ownedBy(deployment, { sets: sets ?? [], fleet: [] });
  const unread = [...(sets ? [] : ['sets']), ...(fleet ? [] : ['machines'])].join(' and ');
  const explanation = {
    ...withoutStep({ deployment, sets: own, machines, classes }, manager.remark, ofMachines),
    has: asItSays(deployment),
    ...(stoppedBy(deployment) ?? { next: `unknown: no permission to read the ${unread}`, hints: [] }),
  };
  return explanationUnder(explanation, controllers);
}

function asItSays({ status = {} }: MachineDeployment): string {
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  return `${counted(replicas, 'machine')}, ${updatedReplicas} of the newest MachineSet, ${availableReplicas} available, according to its status`;
}
