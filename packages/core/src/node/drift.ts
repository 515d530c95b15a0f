import { Annotations, type Machine, type MachineClass } from '@mcm/api';

const KEY = Annotations.DriftPolicy;

/**
 * The policy for a field of the node template that another client changed on the Node:
 * - `Enforce` (default): mcm restores the value of the template.
 * - `Warn`: mcm keeps the value of the other client, and reports the difference.
 * - `Yield`: mcm writes its values with server-side apply, and keeps each value that another client owns.
 */
type DriftPolicy = 'Enforce' | 'Warn' | 'Yield';

export type DriftKind = 'labels' | 'annotations' | 'taints';

export type DriftPolicies = (kind: DriftKind, key: string) => DriftPolicy;

export const NODE_METADATA_MANAGER = 'mcm-node-metadata';

/** mcm compares each key of a Node with each policy, so the number of policies is limited. */
const MOST = 50;

const ENTRY = /^(labels|annotations|taints)\/([^\s=]+)=(Enforce|Warn|Yield)$/;

interface Entry {
  readonly kind: string;
  readonly matches: (key: string) => boolean;
  readonly policy: DriftPolicy;
}

const entriesOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

function parsed(entry: string): Entry | undefined {
  const [, kind, key = '', policy] = ENTRY.exec(entry) ?? [];
  if (kind === undefined || key.slice(0, -1).includes('*')) return undefined;
  const prefix = key.slice(0, -1);
  const matches = key.endsWith('*') ? (name: string) => name.startsWith(prefix) : (name: string) => name === key;
  return { kind, matches, policy: policy as DriftPolicy };
}

/** An invalid drift policy has no effect. */
export function driftPolicyProblems(annotations: Readonly<Record<string, string>> = {}): readonly string[] {
  const text = annotations[KEY];
  if (text === undefined) return [];
  const entries = entriesOf(text);
  const field = `metadata.annotations[${KEY}]`;
  const wrong = entries.filter((entry) => parsed(entry) === undefined);
  return [
    ...wrong.map((entry) => `${field}: "${entry}" is ignored; write an entry such as "labels/team=Yield"`),
    ...(entries.length > MOST ? [`${field}: mcm ignores all entries after the first ${MOST}; remove entries`] : []),
  ];
}

const ENFORCE: DriftPolicies = () => 'Enforce';

type Annotated = Pick<MachineClass, 'metadata'> | undefined;

const textOf = (machine: Machine, machineClass: Annotated): string | undefined =>
  machine.metadata.annotations?.[KEY] ?? machineClass?.metadata.annotations?.[KEY];

export const hasDriftPolicies = (machine: Machine, machineClass: Annotated): boolean =>
  textOf(machine, machineClass) !== undefined;

/**
 * The annotation of the machine takes precedence over the annotation of its class. The first drift policy that matches
 * a key applies.
 */
export function driftPoliciesOf(machine: Machine, machineClass: Annotated): DriftPolicies {
  const text = textOf(machine, machineClass);
  if (text === undefined) return ENFORCE;
  const entries = entriesOf(text)
    .slice(0, MOST)
    .flatMap((entry) => parsed(entry) ?? []);
  return (kind, key) => entries.find((one) => one.kind === kind && one.matches(key))?.policy ?? 'Enforce';
}

/**
 * Returns true if another client changed the value after mcm applied a value. If mcm has never applied a value, any
 * different value on the Node counts as a change by another client.
 */
export const hasDrifted = (
  current: string | undefined,
  lastApplied: string | undefined,
  wanted: string | undefined,
): boolean => current !== lastApplied && current !== wanted;
