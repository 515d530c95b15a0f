import { createHash } from 'node:crypto';
import { type Machine, type MachineClass, machineClasses, type NodeCondition } from '@mcm/api';
import type { ConfigMap, Draft } from '@mcm/kube';
import { defined } from '@mcm/kube';
import { type Known, scrub } from '../secrets/evidence-text.ts';

/** The report of the driver about the VM of a failed machine. */
export interface InstanceEvidence {
  /** State of the VM in the terms of the cloud, with the reason. */
  readonly state?: string;
  readonly console?: string;
}

/** A failure of a machine for which mcm stores evidence. */
export interface Failure {
  /** The ID stays the same during a failure, so that the evidence of the failure is stored once. */
  readonly id: string;
  readonly reason: string;
  readonly at: Date;
}

export interface EvidenceParts {
  readonly machine: Machine;
  readonly machineClass: MachineClass | undefined;
  readonly failure: Failure;
  readonly instance: InstanceEvidence | undefined;
  /** One sentence for each item of evidence that could not be read. */
  readonly gaps: readonly string[];
  readonly known: Known;
}

/** The labels of evidence objects. A value is a hash if the name is too long for a label. */
export const EvidenceLabels = {
  /** On a ConfigMap with the evidence of a failed machine: the class of the machine. */
  Class: 'evidence.machine.sapcloud.io/class',
  /** On a ConfigMap with the evidence of a failed machine: the name of the machine. */
  Machine: 'evidence.machine.sapcloud.io/machine',
} as const;

/**
 * Maximum lengths of the texts in a ConfigMap with evidence, in characters. A text over its maximum length loses its
 * start. The sum of all maximum lengths is far below the 1 MiB limit of a ConfigMap.
 */
const LIMITS = { failure: 8_192, conditions: 16_384, cloud: 8_192, console: 65_536 } as const;

/** The label value is a hash, because a name can be longer than a label value. */
export const labelOf = (name: string): string => hash(name).slice(0, 16);

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Returns the name of the ConfigMap. A second attempt to store the same failure gets the same name. */
export function evidenceName(machine: Machine, failure: Failure): string {
  const { name, uid } = machine.metadata;
  return `evidence-${name.slice(0, 200)}-${hash(`${uid} ${failure.id}`).slice(0, 10)}`;
}

/**
 * Returns the ConfigMap for a failure. Secrets are removed before the texts are truncated, so that no part of a secret
 * remains.
 */
export function draftEvidence(parts: EvidenceParts): Draft<ConfigMap> {
  const { machine, machineClass, failure, instance, gaps, known } = parts;
  const clean = (text: string, limit: number): string => newest(scrub(text, known), limit);
  const className = machine.spec.class.name ?? '';
  const data: Record<string, string> = defined({
    machine: machine.metadata.name,
    class: className,
    providerID: machine.spec.providerID ?? '',
    node: machine.metadata.labels?.node ?? '',
    failedAt: failure.at.toISOString(),
    failure: clean(failure.reason, LIMITS.failure),
    conditions: clean(conditionLines(machine.status?.conditions ?? []), LIMITS.conditions),
    cloud: instance?.state ? clean(instance.state, LIMITS.cloud) : undefined,
    console: instance?.console ? clean(instance.console, LIMITS.console) : undefined,
    missing: gaps.length > 0 ? clean(gaps.join('\n'), LIMITS.failure) : undefined,
  });
  return {
    metadata: defined({
      name: evidenceName(machine, failure),
      namespace: machine.metadata.namespace,
      labels: { [EvidenceLabels.Class]: labelOf(className), [EvidenceLabels.Machine]: labelOf(machine.metadata.name) },
      ownerReferences: machineClass ? [ownerOf(machineClass)] : undefined,
    }),
    data,
  };
}

/** The ConfigMap has the class as its owner, because the evidence must exist after the machine is deleted. */
export const ownerOf = ({ metadata: { name, uid } }: MachineClass) => ({
  apiVersion: `${machineClasses.group}/${machineClasses.version}`,
  kind: machineClasses.kind,
  name,
  uid,
});

const conditionLines = (conditions: readonly NodeCondition[]): string =>
  conditions
    .map(({ type, status, reason, message, lastTransitionTime }) =>
      `${type}=${status} since ${lastTransitionTime ?? '?'} ${reason ?? ''}: ${message ?? ''}`.trim(),
    )
    .join('\n') || 'none: no node has joined';

/** Returns the end of a text, from the start of a line. */
function newest(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(-limit);
  const line = cut.indexOf('\n');
  return `…\n${line >= 0 && line < cut.length - 1 ? cut.slice(line + 1) : cut}`;
}
