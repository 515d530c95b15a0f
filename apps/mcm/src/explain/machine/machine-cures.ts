import { Annotations, formatDurationMs, isForceDeletion, Labels, type Machine } from '@mcm/api';
import { CALL_RETRIES, type DrainExplanation, type MachineDefaults } from '@mcm/core';
import type { LivingMachine } from './machine.ts';
import { isPastDrain } from './machine-wait.ts';

/** What is known of a machine next to itself. */
interface Known {
  readonly cause: LivingMachine['cause'];
  readonly drain: DrainExplanation | undefined;
  readonly settings: Pick<MachineDefaults, 'resourceExhaustedRetryMs'>;
}

/** What a person can do about a machine that is not where it should be. */
export const machineCures = (machine: Machine, known: Known): string[] => [
  ...(known.cause ? [refusalCure(machine, known)] : waitCures(machine, known.drain)),
  ...unreplaced(machine),
];

const of = (verb: string, { metadata }: Machine): string =>
  `kubectl ${verb} machine ${metadata.name} -n ${metadata.namespace ?? ''}`;

/** What would help against a refusal of the cloud. */
function refusalCure(machine: Machine, { cause, settings }: Known): string {
  const name = machine.spec.class.name ?? '?';
  const code = cause?.code ?? '';
  const kind = machine.metadata.deletionTimestamp === undefined ? 'create' : 'delete';
  const again = (CALL_RETRIES[kind] as Readonly<Record<string, { readonly maxMs: number } | undefined>>)[code];
  const period = again ? `, about every ${formatDurationMs(again.maxMs)}` : '';
  const short = `after ${formatDurationMs(settings.resourceExhaustedRetryMs)}, then more rarely, one of its class and zone first`;
  const retry = `it is tried again by itself${code === 'ResourceExhausted' && kind === 'create' ? `, ${short}` : period}`;
  const cures: Readonly<Record<string, string>> = {
    InvalidArgument: `mend what it names, in the machine, in MachineClass ${name} or in its Secret; it is tried again at once`,
    Unauthenticated: `mend the credentials in the Secret of MachineClass ${name}; it is tried again at once`,
    PermissionDenied: `give the credentials of MachineClass ${name} the right that is missing; ${retry}, and at once when class or Secret change`,
    ResourceExhausted: `raise the quota, free capacity or name another zone or type; ${retry}`,
  };
  const vm = machine.spec.providerID ? ` of VM ${machine.spec.providerID}` : '';
  return cures[code] ?? `${retry}; if it lasts, see what the cloud itself says${vm}`;
}

/** What a person can do about a wait in which the cloud has refused nothing. */
function waitCures(machine: Machine, drain: DrainExplanation | undefined): string[] {
  const { metadata, spec, status } = machine;
  const { phase, preserveExpiryTime } = status?.currentStatus ?? {};
  if (metadata.deletionTimestamp) return drain ? drainCures(machine, drain) : [];
  switch (phase) {
    case 'Pending':
      if (!spec.providerID) return [];
      return [
        `look at the console of the VM and at the user data of MachineClass ${spec.class.name ?? '?'}: whether it reaches the API server, and is let in; when the machine is Failed its console is kept and told here`,
      ];
    case 'Unknown':
      return [
        `see its node and its VM: kubectl describe node ${metadata.labels?.[Labels.Node] ?? ''}; once the node is well the machine is Running by itself`,
        `to have it replaced now: ${of('delete', machine)}; to have it kept for study: ${of('annotate', machine)} ${Annotations.Preserve}=now`,
      ];
    case 'InPlaceUpdateFailed':
      return [
        'mend what it names on its node: a late success counts; or correct the template of its deployment, which begins anew',
        `to have it replaced now: ${of('delete', machine)}`,
      ];
    case 'Failed':
      if (!preserveExpiryTime) return [];
      return [`it is kept for study; to end that now: ${of('annotate', machine)} ${Annotations.Preserve}-`];
    default:
      return [];
  }
}

/** What blocks a drain is told with its own cures; this one is for those who cannot wait for them. */
const drainCures = (machine: Machine, { blockers }: DrainExplanation): string[] =>
  blockers.length === 0 || isForceDeletion(machine) || isPastDrain(machine)
    ? []
    : [
        `mend what blocks its drain, below; to force it now, whatever becomes of its pods: ${of('label', machine)} ${Labels.ForceDeletion}=true`,
      ];

/** Nobody does anything about a Failed machine of no set. */
function unreplaced(machine: Machine): string[] {
  const { metadata, status } = machine;
  const owned = metadata.ownerReferences?.some(({ controller }) => controller);
  if (owned || metadata.deletionTimestamp || status?.currentStatus?.phase !== 'Failed') return [];
  return [`no MachineSet owns it, so nobody replaces it: ${of('delete', machine)}`];
}
