import { Labels, type Machine } from '@mcm/api';
import { controllerOf, type Node } from '@mcm/kube';
import type { TreeSource } from './tree.ts';

export const nodesOf = (fleet: readonly Machine[], all: readonly Node[] | undefined): readonly Node[] | undefined => {
  const names = new Set(fleet.map(({ metadata }) => metadata.labels?.[Labels.Node]));
  return all?.filter(({ metadata }) => names.has(metadata.name));
};

/** Keeps the selected deployments and the objects that belong to them. */
export function ofDeployments({ deployments, sets, machines, nodes }: TreeSource): TreeSource {
  const uids = new Set(deployments.map(({ metadata }) => metadata.uid));
  const own = sets.filter((set) => uids.has(controllerOf(set)?.uid ?? ''));
  const ofOwn = new Set([...uids, ...own.map(({ metadata }) => metadata.uid)]);
  const ofSets = machines.filter((machine) => ofOwn.has(controllerOf(machine)?.uid ?? ''));
  return { deployments, sets: own, machines: ofSets, nodes: nodesOf(ofSets, nodes) };
}
