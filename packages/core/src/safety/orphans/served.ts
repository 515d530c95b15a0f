import { Labels, type Machine } from '@mcm/api';
import { isReady, type Node } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { isInstance, sameInstance } from '../../node/instance.ts';

/** A VM without a machine, and what is known of its surroundings. */
export interface ListedVm {
  readonly vm: ListedInstance;
  /** The machine that has the name of the VM. */
  readonly machine: Machine | undefined;
  /** All VMs that the cloud listed with it. */
  readonly listed: readonly ListedInstance[];
  /** Nodes that may run on the VM; others do not harm. */
  readonly nodes: readonly Node[];
}

/** What a VM without a machine is used for. */
export type Use =
  /** Its Node is not Ready, or Nodes cannot be read. */
  | { readonly use: 'none' }
  /** It has no Node: it never joined, or its Node object is lost and its kubelet may run pods. */
  | { readonly use: 'unseen' }
  /** A machine claims the Node: it is the id of the machine that is wrong. */
  | { readonly use: 'claimed'; readonly node: Node }
  /** No machine claims the Node, so nobody drains it. */
  | { readonly use: 'unclaimed'; readonly node: Node };

/**
 * Whether a Ready Node runs on the VM. The Node's provider id decides. A Node without an id that can be compared counts
 * when it belongs to the machine of the VM's name, unless the machine's recorded VM is listed: then it runs on that one.
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
