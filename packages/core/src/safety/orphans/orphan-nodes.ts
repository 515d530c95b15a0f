import { Annotations, Finalizers, Labels, type Machine, parseTime } from '@mcm/api';
import { isReady, type Node } from '@mcm/kube';
import { mayBeInstance } from '../../node/instance.ts';
import type { NodeChange } from '../../node/patch.ts';
import type { Listing } from './listings.ts';

/**
 * Returns the change for a Node that has no machine for a long time (finalizer removed, annotation added), or that has
 * one again (annotation removed). Source: machine_safety.go, AnnotateNodesUnmanagedByMCM.
 */
export function planNodeMark(node: Node, owners: number, now: Date, minAgeMs: number): NodeChange | undefined {
  const { annotations, finalizers = [] } = node.metadata;
  const marked = annotations?.[Annotations.NotManagedByMCM] !== undefined;
  if (owners === 1) return marked ? { metadata: { annotations: { [Annotations.NotManagedByMCM]: null } } } : undefined;
  if (owners > 1) return undefined;
  const held = finalizers.includes(Finalizers.Node);
  if (ageMs(node, now) < minAgeMs || (marked && !held)) return undefined;
  const others = finalizers.filter((finalizer) => finalizer !== Finalizers.Node);
  return {
    metadata: {
      annotations: marked ? undefined : { [Annotations.NotManagedByMCM]: '1' },
      finalizers: held ? others : undefined,
    },
  };
}

const ageMs = ({ metadata }: Node, now: Date): number =>
  now.getTime() - (parseTime(metadata.creationTimestamp)?.getTime() ?? now.getTime());

/** The class of a Node's former machine; undefined if the Node is not known to be from this namespace. */
export function classOfNode({ metadata }: Node, namespace: string): string | undefined {
  const key = metadata.annotations?.[Annotations.MachineClassOfNode];
  return key?.startsWith(`${namespace}/`) ? key : undefined;
}

/** Returns true if the machine names the Node, the Node names the machine, or both have the same VM. */
export function claims(machine: Machine, node: Node): boolean {
  const { metadata, spec } = machine;
  if (metadata.labels?.[Labels.Node] === node.metadata.name) return true;
  if (node.metadata.labels?.[Labels.MachineName] === metadata.name) return true;
  return mayBeInstance(spec.providerID, node.spec.providerID);
}

/** Evidence about a Node that seems to have no machine. */
export interface NodeEvidence {
  readonly namespace: string;
  /** Minimum age of the Node. */
  readonly minAgeMs: number;
  /** When this Node, by UID, was first seen without a machine; absent: now. */
  readonly firstSeen?: Date | undefined;
  /** How long it must have been without a machine. */
  readonly confirmAfterMs: number;
  /** The last successful listing of every class, by key; undefined without one. */
  readonly listings: ReadonlyMap<string, Listing | undefined>;
}

/** Why a Node without a machine is kept. */
export interface Kept {
  readonly because: string;
  /** The reason ends by itself, so no user has to act. */
  readonly passing?: true;
}

const passing = (because: string): Kept => ({ because, passing: true });

/**
 * Returns why a Node without a machine is kept; undefined: it is an orphan. An orphan joined as a node of this
 * namespace, has no reporting kubelet, and is old enough. It had no machine in an earlier pass either. Since then every
 * class was listed without its VM.
 */
export function keepsOrphanNode(node: Node, now: Date, evidence: NodeEvidence): Kept | undefined {
  const { namespace, minAgeMs, firstSeen, confirmAfterMs, listings } = evidence;
  const name = node.metadata.labels?.[Labels.MachineName];
  const key = classOfNode(node, namespace);
  if (!name || !key) return { because: 'it does not belong to a machine of this namespace' };
  if (isReady(node)) return passing('it is Ready');
  const { providerID } = node.spec;
  if (!providerID) return { because: 'it has no spec.providerID to look up in the cloud' };
  if (ageMs(node, now) < minAgeMs) return passing('it is younger than the minimum age');
  if (!firstSeen || now.getTime() - firstSeen.getTime() < confirmAfterMs)
    return passing('it was not in this state for long enough');
  if (!listings.has(key)) return { because: `its MachineClass ${key} no longer exists, so mcm cannot look up the VM` };
  for (const [other, listing] of listings) {
    if (!listing || listing.startedAt <= firstSeen) return passing(`MachineClass ${other} has not been listed since`);
    const listed = listing.vms.some((vm) => vm.machineName === name || mayBeInstance(vm.providerId, providerID));
    if (listed) return { because: `its instance is still listed by MachineClass ${other}` };
  }
  return undefined;
}
