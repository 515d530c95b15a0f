import { Annotations, Finalizers, Labels, type Machine, parseTime } from '@mcm/api';
import { isReady, type Node } from '@mcm/kube';
import { type Journal, subjectOf } from '../../journal/journal.ts';
import { mayBeInstance } from '../../node/instance.ts';
import type { NodeChange } from '../../node/patch.ts';
import type { Listing } from './listings.ts';

/**
 * Plans the annotation that marks a Node without a machine. If a Node has no machine for a long time, the change adds
 * the annotation and removes the finalizer. Source: machine_safety.go, AnnotateNodesUnmanagedByMCM.
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

export function classOfNode({ metadata }: Node, namespace: string): string | undefined {
  const key = metadata.annotations?.[Annotations.MachineClassOfNode];
  return key?.startsWith(`${namespace}/`) ? key : undefined;
}

/** A machine and a Node belong together if one names the other in a label, or if both belong to one VM. */
export function claims(machine: Machine, node: Node): boolean {
  const { metadata, spec } = machine;
  if (metadata.labels?.[Labels.Node] === node.metadata.name) return true;
  if (node.metadata.labels?.[Labels.MachineName] === metadata.name) return true;
  return mayBeInstance(spec.providerID, node.spec.providerID);
}

export interface NodeEvidence {
  readonly namespace: string;
  readonly minAgeMs: number;
  readonly firstSeen?: Date | undefined;
  readonly confirmAfterMs: number;
  /** For the key of each class, the last successful VM listing, or undefined if no listing has succeeded. */
  readonly listings: ReadonlyMap<string, Listing | undefined>;
}

export interface Kept {
  readonly because: string;
  /** Whether the reason is temporary, so that a user does not have to act. */
  readonly passing?: true;
}

const passing = (because: string): Kept => ({ because, passing: true });

/**
 * Returns the reason why mcm keeps a Node without a machine, or undefined for an orphan. An orphan meets all these
 * conditions:
 * - The Node joined as a node of this namespace.
 * - The kubelet of the Node does not report.
 * - The Node has reached the minimum age of an orphan.
 * - An earlier search, at least the minimum time ago, also found no machine for the Node.
 * - A later VM listing of every class does not contain the VM of the Node.
 */
export function keepsOrphanNode(node: Node, now: Date, evidence: NodeEvidence): Kept | undefined {
  const { namespace, minAgeMs, firstSeen, confirmAfterMs, listings } = evidence;
  const name = node.metadata.labels?.[Labels.MachineName];
  const key = classOfNode(node, namespace);
  if (!name || !key) return { because: 'the Node does not belong to a machine of this namespace' };
  if (isReady(node)) return passing('the Node is Ready');
  const { providerID } = node.spec;
  if (!providerID) return { because: 'the Node has no spec.providerID to look up in the cloud' };
  if (ageMs(node, now) < minAgeMs) return passing('the Node is younger than the minimum age of an orphan');
  if (!firstSeen || now.getTime() - firstSeen.getTime() < confirmAfterMs)
    return passing('the minimum time since the deletion of the Machine has not passed');
  if (!listings.has(key))
    return { because: `MachineClass ${key} of the Node no longer exists, so mcm cannot look up the VM` };
  for (const [other, listing] of listings) {
    if (!listing || listing.startedAt <= firstSeen)
      return passing(`mcm has not listed the VMs of MachineClass ${other} since the loss of the Machine`);
    const listed = listing.vms.some((vm) => vm.machineName === name || mayBeInstance(vm.providerId, providerID));
    if (listed) return { because: `the VM of the Node is still in the list of MachineClass ${other}` };
  }
  return undefined;
}

export interface OrphanNodeInput extends NodeEvidence {
  readonly node: Node;
}

/**
 * The planned changes of a Node without a machine. Before the deletion of an orphan, the caller must check the API
 * servers and the cloud.
 */
export interface OrphanNodePlan {
  readonly orphan: boolean;
  readonly kept?: Kept | undefined;
}

export function planOrphanNode({ node, ...evidence }: OrphanNodeInput, now: Date): OrphanNodePlan {
  const kept = keepsOrphanNode(node, now, evidence);
  return { orphan: kept === undefined, kept };
}

export function decideOrphanNode(
  journal: Journal | undefined,
  node: Node,
  now: Date,
  evidence: NodeEvidence,
): Kept | undefined {
  if (journal === undefined) return keepsOrphanNode(node, now, evidence);
  const name = node.metadata.labels?.[Labels.MachineName];
  const { providerID } = node.spec;
  const listings = new Map(
    [...evidence.listings].map(([key, listing]) => [
      key,
      listing && {
        startedAt: listing.startedAt,
        vms: listing.vms.filter((vm) => vm.machineName === name || mayBeInstance(vm.providerId, providerID)),
      },
    ]),
  );
  const input = { ...evidence, node, listings };
  const decision = planOrphanNode(input, now);
  const because = decision.kept?.because ?? 'no machine and no VM belongs to the Node';
  const actions = decision.orphan ? ['checking the Node again before its deletion'] : [];
  journal
    .record({ kind: 'orphannode', subject: subjectOf('Node', node), at: now, input, decision, because, actions })
    .ended();
  return decision.kept;
}
