import { createHash } from 'node:crypto';
import { type Machine, type MachineClass, machineClasses, type NodeCondition } from '@mcm/api';
import type { ConfigMap, Draft } from '@mcm/kube';
import { defined } from '@mcm/kube';
import { type Known, scrub } from '../secrets/evidence-text.ts';

/** The information of a driver about the VM of a failed machine. */
export interface InstanceEvidence {
  readonly state?: string;
  readonly console?: string;
}

/** A failure of a machine. */
export interface Failure {
  /** The ID of a failure does not change while the failure lasts, so mcm stores the evidence only once. */
  readonly id: string;
  readonly reason: string;
  readonly at: Date;
}

export interface EvidenceParts {
  readonly machine: Machine;
  readonly machineClass: MachineClass | undefined;
  readonly failure: Failure;
  readonly instance: InstanceEvidence | undefined;
  readonly gaps: readonly string[];
  readonly known: Known;
}

/**
 * The labels of a ConfigMap with evidence. Each label of a ConfigMap with evidence is a hash of a name, see `labelOf`.
 */
export const EvidenceLabels = {
  /** On a ConfigMap with the evidence of a failed machine, the value is a hash of the name of its class. */
  Class: 'evidence.machine.sapcloud.io/class',
  /** On a ConfigMap with the evidence of a failed machine, the value is a hash of the name of the machine. */
  Machine: 'evidence.machine.sapcloud.io/machine',
} as const;

/**
 * The maximum lengths of the texts in a ConfigMap with evidence, in characters. The sum of all texts is far below the
 * limit of 1 MiB for a ConfigMap.
 */
const LIMITS = { failure: 8_192, conditions: 16_384, cloud: 8_192, console: 65_536 } as const;

/** A name can be longer than a label value, so the label contains a hash. */
export const labelOf = (name: string): string => hash(name).slice(0, 16);

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * The name depends only on the machine and the failure, so a second attempt to store the evidence finds the existing
 * ConfigMap.
 */
export function evidenceName(machine: Machine, failure: Failure): string {
  const { name, uid } = machine.metadata;
  return `evidence-${name.slice(0, 200)}-${hash(`${uid} ${failure.id}`).slice(0, 10)}`;
}

/** mcm removes secrets before it truncates long texts, because the redaction cannot find a truncated secret. */
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

/** The class owns a ConfigMap with evidence, because the evidence must outlive the machine. */
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
    .join('\n') || 'no conditions, because no node has joined';

/** Removes the first lines of a text that is longer than the limit. */
function newest(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(-limit);
  const line = cut.indexOf('\n');
  return `…\n${line >= 0 && line < cut.length - 1 ? cut.slice(line + 1) : cut}`;
}
