import type { Placement } from '@aws-sdk/client-ec2';
import type { Machine } from '@mcm/api';
import { foldGoJson, MachineError } from '@mcm/core/driver';
import { z } from 'zod';
import type { AwsProviderSpec } from '../spec/schemas.ts';

const PlacementAnnotations = {
  /**
   * On a node template, the value is the placement of the VMs in EC2, as JSON. The field `placement` of a class takes
   * precedence.
   */
  Placement: 'machine.sapcloud.io/awsPlacement',
} as const;

/** The schema of the annotation, whose keys may have any letter case. */
const annotated = z.object({
  Affinity: z.string().optional(),
  AvailabilityZone: z.string().optional(),
  AvailabilityZoneId: z.string().optional(),
  GroupId: z.string().optional(),
  GroupName: z.string().optional(),
  HostId: z.string().optional(),
  HostResourceGroupArn: z.string().optional(),
  PartitionNumber: z.int32().optional(),
  SpreadDomain: z.string().optional(),
  Tenancy: z.string().optional(),
});

/** Returns the placement of a VM. If the provider spec has no placement, the annotation of the Machine applies. */
export function placementOf(spec: AwsProviderSpec, machine: Machine): Placement | undefined {
  if (spec.placement) {
    const { tenancy, affinity, groupId, hostId, partitionNumber } = spec.placement;
    const placement = {
      Tenancy: tenancy,
      Affinity: affinity,
      GroupId: groupId,
      HostId: hostId,
      PartitionNumber: partitionNumber,
    };
    return placement as Placement;
  }
  const text = machine.spec.nodeTemplate?.metadata?.annotations?.[PlacementAnnotations.Placement];
  return text ? parse(text) : undefined;
}

function parse(text: string): Placement | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text, (_, each: unknown, context?: { readonly source?: string }) => {
      if (typeof each === 'string') return each.toWellFormed();
      return typeof each === 'number' && /[.eE]/.test(context?.source ?? '') ? Number.NaN : each;
    });
  } catch (thrown) {
    throw malformed('is not JSON', thrown);
  }
  if (value === null) return undefined;
  const placement = annotated.safeParse(foldGoJson(annotated, value).value);
  if (!placement.success)
    throw malformed(placement.error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; '));
  // In the original, an empty tenancy counts as absent. All other fields are pointers in the original, so the original
  // sends their empty texts.
  const { Tenancy, ...others } = placement.data;
  const members = Tenancy ? placement.data : others;
  return Object.keys(members).length > 0 ? (members as Placement) : undefined;
}

const malformed = (defect: string, cause?: unknown): MachineError =>
  new MachineError(
    'Internal',
    `annotation ${PlacementAnnotations.Placement} of spec.nodeTemplate: ${defect}; the annotation must be a JSON object with members of EC2's Placement`,
    cause === undefined ? {} : { cause },
  );
