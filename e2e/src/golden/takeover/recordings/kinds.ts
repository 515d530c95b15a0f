import { machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import {
  events,
  type KubeObject,
  nodes,
  podDisruptionBudgets,
  pods,
  type ResourceDefinition,
  secrets,
} from '@mcm/kube';

export type Definition = ResourceDefinition<KubeObject>;

export const KINDS = [
  secrets,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
  nodes,
  podDisruptionBudgets,
  pods,
] as readonly Definition[];
export const EVENTS = events as Definition;

/** @throws Error with the known kinds if the kind is unknown */
export function definitionOf(kind: string): Definition {
  const found = KINDS.find((definition) => definition.kind === kind);
  if (!found)
    throw new Error(`the recording has an object of kind ${kind}; known: ${KINDS.map((one) => one.kind).join(', ')}`);
  return found;
}

export const placeOf = (kind: string): number => KINDS.findIndex((definition) => definition.kind === kind);
