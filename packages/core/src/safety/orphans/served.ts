import { Labels, type Machine } from '@mcm/api';
import { isReady, type Node } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { isInstance, sameInstance } from '../../node/instance.ts';

/** A VM without a machine, and the objects that show whether pods run on the VM. */
export interface ListedVm {
  readonly vm: ListedInstance;
  readonly machine: Machine | undefined;
  readonly listed: readonly ListedInstance[];
  /** The Nodes that may belong to the VM. */
  readonly nodes: readonly Node[];
}

export type Use =
  /** No pods run on the VM: its Node is not Ready, or mcm has no target cluster. */
  | { readonly use: 'none' }
  /** The VM has no Node object, because the VM never joined or its Node object is lost. */
  | { readonly use: 'unseen' }
  /** The Node of the VM belongs to a machine, but the provider ID of this machine is wrong. */
  | { readonly use: 'claimed'; readonly node: Node }
  /** The Node of the VM belongs to no machine, so no machine controller drains the Node. */
  | { readonly use: 'unclaimed'; readonly node: Node };

/**
 * Returns whether a Node runs on the VM. A Node with the provider ID of the VM runs on the VM. If the provider IDs
 * cannot be compared, the Node of the machine with the VM's name counts.
 */
export function useOf({ vm, machine, listed, nodes }: ListedVm): Use {
  const hasOwn = listed.some(({ providerId }) => isInstance(machine?.spec.providerID, providerId));
  const runsOn = (node: Node): boolean =>
    isInstance(node.spec.providerID, vm.providerId) ||
    (!hasOwn && sameInstance(node.spec.providerID, vm.providerId) && isNamedAfter(node, vm, machine));
  const own = nodes.filter(runsOn);
  const node = own.find(isReady);
  if (!node) return { use: own.length > 0 ? 'none' : 'unseen' };
  return { use: claims(machine, node) ? 'claimed' : 'unclaimed', node };
}

const isNamedAfter = (node: Node, { machineName }: ListedInstance, machine: Machine | undefined): boolean =>
  node.metadata.name === machineName ||
  node.metadata.labels?.[Labels.MachineName] === machineName ||
  machine?.metadata.labels?.[Labels.Node] === node.metadata.name;

const claims = (machine: Machine | undefined, node: Node): boolean =>
  machine !== undefined &&
  (machine.metadata.labels?.[Labels.Node] === node.metadata.name ||
    node.metadata.labels?.[Labels.MachineName] === machine.metadata.name);
