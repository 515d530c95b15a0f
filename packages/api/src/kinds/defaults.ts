import { defined } from '../values/defined.ts';
import {
  DEFAULT_IN_PLACE_UPDATE,
  DEFAULT_REPLICAS,
  DEFAULT_ROLLING_UPDATE,
  DEFAULT_STRATEGY,
} from './default-values.ts';
import type { MachineDeployment, MachineDeploymentStrategy } from './machine-deployment.ts';
import type { MachineSet } from './machine-set.ts';

/** Sets the default values of the CRD in a deployment, because the original cannot read an object without them. */
export function defaultMachineDeployment(deployment: MachineDeployment): MachineDeployment {
  const { spec } = deployment;
  const strategy = defaultStrategy(spec.strategy);
  if (spec.replicas !== undefined && strategy === spec.strategy) return deployment;
  return { ...deployment, spec: { ...spec, replicas: spec.replicas ?? DEFAULT_REPLICAS, strategy } };
}

function defaultStrategy(strategy: MachineDeploymentStrategy | undefined): MachineDeploymentStrategy {
  const { type = DEFAULT_STRATEGY.type, rollingUpdate, inPlaceUpdate } = strategy ?? {};
  const rolling =
    type === 'RollingUpdate' || rollingUpdate ? fill(rollingUpdate ?? {}, DEFAULT_ROLLING_UPDATE) : undefined;
  const inPlace = inPlaceUpdate && fill(inPlaceUpdate, DEFAULT_IN_PLACE_UPDATE);
  if (strategy?.type === type && rolling === rollingUpdate && inPlace === inPlaceUpdate) return strategy;
  return defined({ type, rollingUpdate: rolling, inPlaceUpdate: inPlace });
}

const fill = <T extends object, D extends Partial<T>>(value: T, defaults: D): T =>
  Object.keys(defaults).every((key) => Object.hasOwn(value, key)) ? value : { ...defaults, ...value };

/** Returns the MachineSet with default values for all absent fields. */
export const defaultMachineSet = (set: MachineSet): MachineSet =>
  set.spec.replicas === undefined ? { ...set, spec: { ...set.spec, replicas: DEFAULT_REPLICAS } } : set;
