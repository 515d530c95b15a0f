import * as z from 'zod';
import type { MachinePhase } from '../constants/machine-phases.ts';
import { count, duration, flag, knownText, objectMeta, optional, text, time } from './fields.ts';
import { API_VERSION } from './group.ts';
import { nodeAddressSchema, nodeConditionSchema, nodeTemplateSpecSchema } from './node.ts';
import { blockedByField, classReferenceSchema, lastOperationSchema } from './shared.ts';

/**
 * The settings that machines get without a rollout. A change of these settings replaces no machine. For a missing
 * setting, the machine controller uses the value of its flag.
 */
const MACHINE_CONFIGURATION = {
  drainTimeout: optional(
    duration(
      'Time limit of the drain of the machine. When the drain timeout expires, mcm forces the drain. Default: `--machine-drain-timeout` (2h).',
    ),
  ),
  healthTimeout: optional(
    duration('Time after which an unhealthy machine becomes Failed. Default: `--machine-health-timeout` (10m).'),
  ),
  creationTimeout: optional(
    duration(
      'Longest time from the creation of the machine until its node joins the cluster. Default: `--machine-creation-timeout` (20m).',
    ),
  ),
  inPlaceUpdateTimeout: optional(
    duration('Longest time of an in-place update. Default: `--machine-inplace-update-timeout` (20m).'),
  ),
  machinePreserveTimeout: optional(
    duration('Duration of the preservation of the machine. Default: `--machine-preserve-timeout` (96h).'),
  ),
  disableHealthTimeout: optional(flag('If true, an unhealthy machine never becomes Failed.')),
  maxEvictRetries: optional(
    count(
      'Maximum number of attempts to evict a pod. After the last attempt to evict a pod, mcm deletes the pod. Default: `--machine-max-evict-retries` (360).',
    ),
  ),
  nodeConditions: optional(
    text(
      'Comma-separated types of node conditions. The machine is unhealthy if a condition in nodeConditions is not `False`. Default: `--node-conditions`.',
    ),
  ),
};

export const machineSpecSchema = z
  .object({
    class: classReferenceSchema,
    providerID: optional(
      text(
        'ID of the VM at the provider. The machine controller writes the provider ID, which is empty until the VM exists.',
      ),
    ),
    nodeTemplate: optional(nodeTemplateSpecSchema),
    ...MACHINE_CONFIGURATION,
  })
  .meta({ description: 'Desired state of the machine.' });

/** Spec of a Machine. */
export type MachineSpec = z.infer<typeof machineSpecSchema>;

const currentStatusSchema = z
  .object({
    phase: optional(
      knownText<MachinePhase>(
        '`Pending`, `Available`, `Running`, `Unknown`, `Failed`, `CrashLoopBackOff`, `Terminating`, `InPlaceUpdating`, `InPlaceUpdateSuccessful` or `InPlaceUpdateFailed`. The phase of a new machine is empty.',
      ),
    ),
    timeoutActive: optional(flag('Unused.')),
    lastUpdateTime: optional(time('Time at which the machine entered the phase.')),
    preserveExpiryTime: optional(
      time(
        'Time at which the preservation of the machine ends. A machine without preservation has no preserveExpiryTime.',
      ),
    ),
  })
  .meta({ description: 'Phase of the machine.' });

/** Phase of a machine, and its start time. */
export type CurrentStatus = z.infer<typeof currentStatusSchema>;

const machineStatusSchema = z
  .object({
    addresses: optional(
      z.array(nodeAddressSchema).meta({
        description:
          'Addresses of the VM. The machine controller writes addresses only if it runs without a target cluster.',
      }),
    ),
    conditions: optional(z.array(nodeConditionSchema).meta({ description: 'Copy of the conditions of the node.' })),
    lastOperation: optional(lastOperationSchema),
    currentStatus: optional(currentStatusSchema),
    lastKnownState: optional(text('Data that the driver of the provider stores between its calls.')),
    blockedBy: blockedByField,
  })
  .meta({ description: 'Observed state of the machine, which the machine controller writes.' });

/** Status of a Machine. */
export type MachineStatus = z.infer<typeof machineStatusSchema>;

/** Schema of a Machine: one VM and its Node. */
export const machineSchema = z
  .object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('Machine'),
    metadata: objectMeta,
    spec: machineSpecSchema,
    status: optional(machineStatusSchema),
  })
  .meta({ description: 'A worker machine: one VM of the provider and its Node.' });

/** A worker machine. */
export type Machine = z.infer<typeof machineSchema>;

/** Returns the phase of a machine, or undefined until the machine controller writes the first phase. */
export function phaseOf({ status }: Machine): MachinePhase | undefined {
  const phase = status?.currentStatus?.phase;
  return (phase as string | undefined) === '' ? undefined : phase;
}
