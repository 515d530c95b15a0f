import { Annotations, formatDurationMs, isForceDeletion, Labels, type Machine } from '@mcm/api';
import { CALL_RETRIES, type CreationStep, type DrainExplanation, type MachineDefaults } from '@mcm/core';
import type { LivingMachine } from './living-machine.ts';
import { isPastDrain } from './machine-wait.ts';

interface Known {
  readonly cause: LivingMachine['cause'];
  readonly drain: DrainExplanation | undefined;
  readonly step: CreationStep | undefined;
  readonly settings: Pick<MachineDefaults, 'resourceExhaustedRetryMs'>;
  /**
   * False if evidence shows that the machine controller does not work. If `isActing` is false, the hints contain no
   * step of the machine controller.
   */
  readonly isActing: boolean;
}

export const machineHints = (machine: Machine, known: Known): string[] => [
  ...(known.cause ? refusalCure(machine, known) : waitHints(machine, known)),
  ...unreplaced(machine),
];

const of = (verb: string, { metadata }: Machine): string =>
  `kubectl ${verb} machine ${metadata.name} -n ${metadata.namespace ?? ''}`;

function refusalCure(machine: Machine, { cause, settings, isActing }: Known): string[] {
  const name = machine.spec.class.name ?? '?';
  const code = cause?.code ?? '';
  const kind = machine.metadata.deletionTimestamp === undefined ? 'create' : 'delete';
  const again = (CALL_RETRIES[kind] as Readonly<Record<string, { readonly maxMs: number } | undefined>>)[code];
  const period = again ? `, about every ${formatDurationMs(again.maxMs)}` : '';
  const short = `first after ${formatDurationMs(settings.resourceExhaustedRetryMs)} and then less often; only one machine of the class and zone retries at a time`;
  const retry = `mcm retries the call automatically${code === 'ResourceExhausted' && kind === 'create' ? `, ${short}` : period}`;
  const immediately = 'after the correction, mcm retries the call immediately';
  const hints: Readonly<Record<string, readonly [fix: string, next: string]>> = {
    InvalidArgument: [`correct the field in the machine, MachineClass ${name} or its Secret`, immediately],
    Unauthenticated: [`correct the credentials in the Secret of MachineClass ${name}`, immediately],
    PermissionDenied: [
      `grant the missing permission to the credentials of MachineClass ${name}`,
      `${retry}, and after each change of class or Secret`,
    ],
    ResourceExhausted: [
      `raise the quota, free capacity, or list other zones or types in annotation ${Annotations.CapacityAlternatives} of MachineClass ${name}`,
      retry,
    ],
  };
  const known = hints[code];
  if (known !== undefined) return [isActing ? known.join('; ') : known[0]];
  if (cause?.category === 'credentials')
    return isActing ? [`${retry}, and immediately after a change of the class or Secret`] : [];
  const vm = machine.spec.providerID ? ` of VM ${machine.spec.providerID}` : '';
  return isActing ? [`${retry}; if the error persists, check the state${vm} in the cloud`] : [];
}

function waitHints(machine: Machine, { drain, step, isActing }: Known): string[] {
  const { metadata, spec, status } = machine;
  const { phase, preserveExpiryTime } = status?.currentStatus ?? {};
  if (metadata.deletionTimestamp) return drain ? drainHints(machine, drain) : [];
  switch (phase) {
    case 'Pending':
      if (!spec.providerID) return [];
      if (step?.type === 'ReadinessTaintsRemoved')
        return [
          `check the node readiness controller and its rules: the node readiness controller removes the taint ${step.reason}`,
        ];
      if (step?.type === 'CriticalComponentsReady')
        return [
          `check the critical pods of the node: kubectl get pods -A --field-selector spec.nodeName=${metadata.labels?.[Labels.Node] ?? ''}`,
        ];
      return [
        `check the console of the VM and the user data of MachineClass ${spec.class.name ?? '?'}. The VM must reach the API server with valid credentials. For a Failed machine, mcm explain shows the console output`,
      ];
    case 'Unknown':
      return [
        `check the node and the VM: kubectl describe node ${metadata.labels?.[Labels.Node] ?? ''}${isActing ? '; when the node is healthy, the machine becomes Running' : ''}`,
        `to replace the machine now: ${of('delete', machine)}; to preserve the machine for an investigation: ${of('annotate', machine)} ${Annotations.Preserve}=now`,
      ];
    case 'InPlaceUpdateFailed':
      return [
        'fix the reported problem on the node: if the update succeeds after the fix, mcm accepts the update. To start another update, correct the template',
        `to replace the machine now: ${of('delete', machine)}`,
      ];
    case 'Failed':
      if (!preserveExpiryTime) return [];
      return [
        `the machine is preserved; to end the preservation now: ${of('annotate', machine)} ${Annotations.Preserve}-`,
      ];
    default:
      return [];
  }
}

/** Returns the hint about forcing the drain. */
const drainHints = (machine: Machine, { blockers }: DrainExplanation): string[] =>
  blockers.length === 0 || isForceDeletion(machine) || isPastDrain(machine)
    ? []
    : [
        `remove the blockers of the drain (see below); to force the drain now and delete the pods: ${of('label', machine)} ${Labels.ForceDeletion}=true`,
      ];

/** Returns a hint for a Failed machine without a MachineSet, because no controller replaces such a machine. */
function unreplaced(machine: Machine): string[] {
  const { metadata, status } = machine;
  const owned = metadata.ownerReferences?.some(({ controller }) => controller);
  if (owned || metadata.deletionTimestamp || status?.currentStatus?.phase !== 'Failed') return [];
  return [`no MachineSet owns the machine, so no controller replaces the machine: ${of('delete', machine)}`];
}
