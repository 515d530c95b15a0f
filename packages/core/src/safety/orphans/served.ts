import { Labels, type Machine } from '@mcm/api';
import { isReady, type Node } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { isInstance, sameInstance } from '../../node/instance.ts';

/** A VM without a machine, and the objects that show whether the VM is in use. */
export interface ListedVm {
  readonly vm: ListedInstance;
  readonly machine: Machine | undefined;
  readonly listed: readonly ListedInstance[];
  /** The Nodes that may belong to the VM, which may include Nodes of other VMs. */
  readonly nodes: readonly Node[];
}

export type Use =
  /** The Node of the VM is not Ready, or mcm has no target cluster. */
  | { readonly use: 'none' }
  /**
   * The VM has no Node object. The VM never joined, or its Node object is lost. A VM with a lost Node object may still
   * run pods.
   */
  | { readonly use: 'unseen' }
  /** The Node belongs to a machine, whose provider ID is then wrong. */
  | { readonly use: 'claimed'; readonly node: Node }
  /** The Node belongs to no machine, so no machine controller drains the Node. */
  | { readonly use: 'unclaimed'; readonly node: Node };

/**
 * A Node with the provider ID of the VM runs on the VM. If the two IDs cannot be compared, a Node counts if it belongs
 * to the machine with the name of the VM. The name does not count if the listing contains the recorded VM of this
 * machine.
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
