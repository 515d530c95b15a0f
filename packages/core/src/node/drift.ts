import { Annotations, type Machine, type MachineClass } from '@mcm/api';

const KEY = Annotations.DriftPolicy;

/**
 * The policy for a field of the node template that another client changed on the Node:
 * - `Enforce`: mcm writes the value of the template again. `Enforce` is the default.
 * - `Warn`: mcm keeps the value of the other client, and reports the difference.
 * - `Yield`: mcm keeps the value of the other client. mcm applies its own values with server-side apply.
 */
type DriftPolicy = 'Enforce' | 'Warn' | 'Yield';

/** The parts of a node template for which users can set a policy. */
export type DriftKind = 'labels' | 'annotations' | 'taints';

/** Returns the policy of a label, an annotation or a taint. */
export type DriftPolicies = (kind: DriftKind, key: string) => DriftPolicy;

/** The field manager of server-side apply for keys with the policy `Yield`. */
export const NODE_METADATA_MANAGER = 'mcm-node-metadata';

/**
 * Maximum number of policies in an annotation. The maximum limits the work, because mcm compares each key of a Node
 * with each policy.
 */
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

/** Returns one sentence for each invalid entry, with the field and the fix. An invalid entry has no effect. */
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

/** Returns true if the Machine or its class has drift policies. */
export const hasDriftPolicies = (machine: Machine, machineClass: Annotated): boolean =>
  textOf(machine, machineClass) !== undefined;

/**
 * Returns the drift policies of a machine. The annotation of the machine takes precedence over the annotation of its
 * class. For each key, the first matching policy applies.
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
 * Returns true if another client changed the value after mcm applied a value. If mcm has never applied a value, each
 * other value on the Node counts as a change of another client.
 */
export const hasDrifted = (
  current: string | undefined,
  lastApplied: string | undefined,
  wanted: string | undefined,
): boolean => current !== lastApplied && current !== wanted;
