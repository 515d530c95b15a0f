import { Labels, type Machine, type MachineClass } from '@mcm/api';
import { type Informer, keyOf } from '@mcm/kube';

const MOST = 5;

/**
 * Returns other classes whose credentials may work when the cloud refuses the credentials of a machine's class. To
 * replace credentials, users often create a new class and refer to the new class in the MachineDeployment.
 */
export function fallbackClasses(machine: Machine, own: MachineClass, caches: FallbackCaches): readonly MachineClass[] {
  const deployment = machine.metadata.labels?.[Labels.DeploymentName];
  const others = caches.classes.store
    .list()
    .filter((other) => keyOf(other) !== keyOf(own) && other.provider === own.provider)
    .sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1));
  const isOfPool = (machineClass: MachineClass): boolean =>
    deployment !== undefined &&
    caches.machines.store
      .byIndex('class', machineClass.metadata.name)
      .some(({ metadata }) => metadata.labels?.[Labels.DeploymentName] === deployment);
  const pool = others.filter(isOfPool);
  return [...pool, ...others.filter((other) => !pool.includes(other))].slice(0, MOST);
}

export interface FallbackCaches {
  readonly classes: Pick<Informer<MachineClass>, 'store'>;
  readonly machines: Pick<Informer<Machine>, 'store'>;
}
