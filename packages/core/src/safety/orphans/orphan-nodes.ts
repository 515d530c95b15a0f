import { Annotations, Finalizers, Labels, type Machine, parseTime } from '@mcm/api';
import { isReady, type Node } from '@mcm/kube';
import { mayBeInstance } from '../../node/instance.ts';
import type { NodeChange } from '../../node/patch.ts';
import type { Listing } from './listings.ts';

/**
 * What to do about a Node that has no machine though it is old enough to (finalizer off, annotated), or that has one
 * again (annotation off). Source: machine_safety.go, AnnotateNodesUnmanagedByMCM.
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
      ...(marked ? {} : { annotations: { [Annotations.NotManagedByMCM]: '1' } }),
      ...(held ? { finalizers: others } : {}),
    },
  };
}

const ageMs = ({ metadata }: Node, now: Date): number =>
  now.getTime() - (parseTime(metadata.creationTimestamp)?.getTime() ?? now.getTime());

/** The class that a Node's machine had; undefined for a Node that is not known to have been this namespace's. */
export function classOfNode({ metadata }: Node, namespace: string): string | undefined {
  const key = metadata.annotations?.[Annotations.MachineClassOfNode];
  return key?.startsWith(`${namespace}/`) ? key : undefined;
}

/** Whether a machine names the Node, is named by it, or has the VM that it has. Any of them will do. */
export function claims(machine: Machine, node: Node): boolean {
  const { metadata, spec } = machine;
  if (metadata.labels?.[Labels.Node] === node.metadata.name) return true;
  if (node.metadata.labels?.[Labels.MachineName] === metadata.name) return true;
  return mayBeInstance(spec.providerID, node.spec.providerID);
}

/** What is known about a Node that no machine seems to claim. */
export interface NodeEvidence {
  readonly namespace: string;
  /** Node's minimum age. */
  readonly minAgeMs: number;
  /** When it was first seen like this, by UID; absent: only now. */
  readonly firstSeen?: Date | undefined;
  /** And how long it must have been like this. */
  readonly confirmAfterMs: number;
  /** Last good listing of every class there is, by key; undefined where none succeeded. */
  readonly listings: ReadonlyMap<string, Listing | undefined>;
}

/** Why a Node that no machine claims is kept. */
export interface Kept {
  readonly because: string;
  /** Waiting ends it: nothing for people to see to. */
  readonly passing?: true;
}

const passing = (because: string): Kept => ({ because, passing: true });

/**
 * Why a Node that no machine claims is kept, or undefined when everything says that it stands for nothing: it joined
 * as a node of this namespace, nobody reports from it, it is old enough, it was like this in an earlier pass, and
 * since then every class was listed without its instance.
 */
export function keepsOrphanNode(node: Node, now: Date, evidence: NodeEvidence): Kept | undefined {
  const { namespace, minAgeMs, firstSeen, confirmAfterMs, listings } = evidence;
  const name = node.metadata.labels?.[Labels.MachineName];
  const key = classOfNode(node, namespace);
  if (!name || !key) return { because: 'it is not known to have been a machine of this namespace' };
  if (isReady(node)) return passing('it is Ready');
  const { providerID } = node.spec;
  if (!providerID) return { because: 'it has no spec.providerID by which the cloud could be asked' };
  if (ageMs(node, now) < minAgeMs) return passing('it is too young');
  if (!firstSeen || now.getTime() - firstSeen.getTime() < confirmAfterMs)
    return passing('it was not like this for long enough');
  if (!listings.has(key)) return { because: `its MachineClass ${key} is gone, so the cloud cannot be asked` };
  for (const [other, listing] of listings) {
    if (!listing || listing.startedAt <= firstSeen) return passing(`MachineClass ${other} has not been listed since`);
    const listed = listing.vms.some((vm) => vm.machineName === name || mayBeInstance(vm.providerId, providerID));
    if (listed) return { because: `its instance is still listed by MachineClass ${other}` };
  }
  return undefined;
}
