import { type Machine, NodeConditions } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { isNodeOf } from '../../node/instance.ts';
import { readinessTaints, waitsForCriticalComponents } from '../../settings/conditions.ts';

/** The stages of a machine's creation, in order. */
export const CREATION_STEPS = [
  'InstanceCreated',
  'InstanceInitialized',
  'NodeRegistered',
  'NodeReady',
  'CriticalComponentsReady',
  'ReadinessTaintsRemoved',
] as const;

/** A stage of the creation. The status of a stage is `Unknown` while an earlier stage is incomplete. */
export interface CreationStep {
  readonly type: (typeof CREATION_STEPS)[number];
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  /** The start of the stage, if the stored objects contain it. */
  readonly since?: string;
}

type Finding = Omit<CreationStep, 'type'>;

const since = (time: string | null | undefined): Pick<CreationStep, 'since'> => (time ? { since: time } : {});

/**
 * Reads the stored objects, and returns the stages of a machine's creation, such as the initialization and the join
 * (incident 26).
 */
export function creationSteps(machine: Machine, node: Node | undefined): readonly CreationStep[] {
  const found = [created, initialized, registered, ready, components, readiness].map((look) => look(machine, node));
  const open = found.findIndex(({ status }) => status !== 'True');
  return CREATION_STEPS.map((type, index) => {
    const stage = found[index];
    const begun = stage && (open === -1 || index <= open);
    return begun ? { type, ...stage } : { type, status: 'Unknown', reason: 'NotBegun' };
  });
}

const failure = ({ status }: Machine): Finding | undefined => {
  const { state, type, errorCode, lastUpdateTime } = status?.lastOperation ?? {};
  if (state !== 'Failed' || type !== 'Create' || !errorCode) return undefined;
  return { status: 'False', reason: errorCode, ...since(lastUpdateTime) };
};

function created(machine: Machine): Finding {
  if (machine.spec.providerID) return { status: 'True', reason: 'Recorded' };
  return failure(machine) ?? { status: 'False', reason: 'Creating', ...since(machine.metadata.creationTimestamp) };
}

function initialized(machine: Machine): Finding {
  const phase = machine.status?.currentStatus?.phase;
  if (phase && phase !== 'CrashLoopBackOff') return { status: 'True', reason: 'Initialized' };
  return failure(machine) ?? { status: 'False', reason: 'Initializing', ...since(machine.metadata.creationTimestamp) };
}

function registered(machine: Machine, node: Node | undefined): Finding {
  if (!node) return { status: 'False', reason: 'NoNode', ...since(machine.status?.currentStatus?.lastUpdateTime) };
  const at = since(node.metadata.creationTimestamp);
  if (!isNodeOf(machine, node)) return { status: 'False', reason: 'NodeOfAnotherVM', ...at };
  return { status: 'True', reason: 'Registered', ...at };
}

function ready(_machine: Machine, node: Node | undefined): Finding {
  const condition = node?.status?.conditions?.find(({ type }) => type === NodeConditions.Ready);
  if (!condition) return { status: 'False', reason: 'NotReported', ...since(node?.metadata.creationTimestamp) };
  const { status, reason, lastTransitionTime } = condition;
  return {
    status: status === 'True' ? 'True' : 'False',
    reason: reason || `ReadyIs${status}`,
    ...since(lastTransitionTime),
  };
}

const components = (_machine: Machine, node: Node | undefined): Finding =>
  node && waitsForCriticalComponents(node)
    ? { status: 'False', reason: 'TaintOnNode' }
    : { status: 'True', reason: 'NoTaint' };

/** The readiness taints. The node readiness controller removes these taints when the Node meets the readiness rules. */
function readiness(_machine: Machine, node: Node | undefined): Finding {
  const [key] = node ? readinessTaints(node) : [];
  if (key === undefined) return { status: 'True', reason: 'NoTaint' };
  const isReady = node?.status?.conditions?.find(({ type }) => type === NodeConditions.Ready);
  return { status: 'False', reason: key, ...since(isReady?.lastTransitionTime) };
}
