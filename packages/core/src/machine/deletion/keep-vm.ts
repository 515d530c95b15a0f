import { isForceDeletion, type Machine, STEP_TEXTS } from '@mcm/api';
import { isReady } from '@mcm/kube';
import { planDrain } from '../../drain/drain.ts';
import { verdictOf } from '../../drain/model/pod-filters.ts';
import type { MachineObservation } from '../model/observation.ts';
import { type Action, act, type Plan, wait } from '../model/plan.ts';
import { withOperation } from '../model/status.ts';

/** If mcm cannot write the record of a kept VM within this time, mcm deletes the VM. */
export const RECORD_BOUND_MS = 30_000;

const KEPT = 'is kept for an investigation until';

/** The Node of a kept VM stays cordoned. */
export const isVmKept = ({ status }: Machine): boolean => status?.lastOperation?.description?.includes(KEPT) ?? false;

/**
 * Keeps the VM of a Failed machine (incident 30). mcm writes the record first, because a crash after the deletion of
 * the Machine would otherwise leave an orphan without a record.
 */
export function planKeeping(o: MachineObservation, now: Date): Plan | undefined {
  if (!o.keepsVms || !mayBeKept(o, now)) return undefined;
  const { keeping, machine } = o;
  if (!keeping) return act('keeping the VM of a failed machine for an investigation', { do: 'keepVm' });
  const until = new Date(keeping.since.getTime() + RECORD_BOUND_MS);
  if (!keeping.settled) return now < until ? wait('mcm is writing the ConfigMap of the kept VM', until) : undefined;
  if (!keeping.kept) return undefined;
  const { providerID, until: ends, configMap } = keeping.kept;
  const description = `VM ${providerID} ${KEPT} ${ends.toISOString()} (ConfigMap ${configMap}). ${STEP_TEXTS.deleteNode}`;
  const status = withOperation(machine.status, { description, state: 'Processing', type: 'Delete' }, now);
  const event = { type: 'Normal', reason: 'VMKept', message: description } as const;
  return act('mcm keeps the VM for an investigation', { do: 'writeStatus', status, event } satisfies Action);
}

/**
 * Returns true if no pod of the VM can run twice. On an unreachable VM, pods that were deleted with grace period 0, and
 * pods of a deleted Node, may still run.
 */
function mayBeKept(o: MachineObservation, now: Date): boolean {
  const { machine, machineClass, node, drain } = o;
  if (!o.deletedForHealth || !o.hasTarget || isForceDeletion(machine) || !machine.spec.providerID) return false;
  if (!machineClass || machineClass.metadata.deletionTimestamp) return false;
  if (o.nodesUnseen !== undefined) return false;
  if (!node) return (machine.status?.conditions ?? []).length === 0;
  return (
    drain !== undefined &&
    drain.unseen === undefined &&
    isReady(node) &&
    !planDrain(drain, now).forced &&
    !node.metadata.deletionTimestamp &&
    !node.status?.volumesAttached?.length &&
    !node.status?.volumesInUse?.length &&
    drain.attachments.length === 0 &&
    drain.pods.every((pod) => verdictOf(pod).pod === 'stay')
  );
}
