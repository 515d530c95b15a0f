import { Labels } from '@mcm/api';
import type { DeploymentReading } from '../cluster/deployment-reading.ts';
import type { EventScope } from './events.ts';

/** The scope of a deployment: its sets, its machines including deleted machines, and their nodes. */
export function scopeOfDeployment({ deployment, sets, machines }: DeploymentReading): EventScope {
  const living = [...machines.values()].flat();
  const nodes = living.flatMap(({ metadata }) => metadata.labels?.[Labels.Node] ?? []);
  return {
    objects: new Set([
      `MachineDeployment/${deployment.metadata.name}`,
      ...sets.map(({ metadata }) => `MachineSet/${metadata.name}`),
      ...living.map(({ metadata }) => `Machine/${metadata.name}`),
      ...nodes.map((name) => `Node/${name}`),
    ]),
    machinePrefixes: sets.map(({ metadata }) => `${metadata.name}-`),
  };
}

/** The scope of one object. The node of a machine usually has the name of the machine. */
export const scopeOfObject = (kind: string, name: string): EventScope => ({
  objects: new Set([`${kind}/${name}`, ...(kind === 'Machine' ? [`Node/${name}`] : [])]),
  machinePrefixes: [],
});
