import {
  Annotations,
  isGoBoolean,
  Labels,
  type Machine,
  PreserveValues,
  parseDurationMs,
  presenceProblem,
  TRUE,
} from '@mcm/api';
import type { Node } from '@mcm/kube';
import { overrideProblem } from '../disruption/override.ts';
import type { HookDefinitions } from '../hooks/definitions.ts';
import { driftPolicyProblems } from '../node/drift.ts';
import { isPostponement } from '../rollout/postponement.ts';
import { drainRuleProblems } from './drain-rules.ts';
import { drainTimeoutProblems } from './drain-timeouts.ts';
import type { PolicyChoice } from './undrainable.ts';

const DURATIONS = [
  'creationTimeout',
  'drainTimeout',
  'healthTimeout',
  'inPlaceUpdateTimeout',
  'machinePreserveTimeout',
] as const;

const isDuration = (text: string): boolean => {
  const ms = parseDurationMs(text);
  return ms !== undefined && ms >= 0;
};

/** The label `force-drain` has an effect only with the value `True`, as in the original. */
function unclearBooleans({ metadata: { labels = {} } }: Machine): readonly string[] {
  const deletion = labels[Labels.ForceDeletion];
  const drain = labels[Labels.ForceDrain];
  const said = (key: string, value: string, allowed: string): string =>
    `metadata.labels[${key}]: "${value}" is ignored; write ${allowed}`;
  return [
    ...(deletion === undefined || deletion === '' || isGoBoolean(deletion)
      ? []
      : [said(Labels.ForceDeletion, deletion, '"true" or "false"')]),
    ...(drain === undefined || drain === '' || drain === TRUE || drain === 'False'
      ? []
      : [said(Labels.ForceDrain, drain, '"True" or "False"')]),
  ];
}

function unclearPostponement({ metadata: { name, labels } }: Node): readonly string[] {
  const value = labels?.[Labels.RolloutPostpone];
  if (value === undefined || isPostponement(value)) return [];
  const fix = 'write "true" or a time in seconds since 1970';
  return [`Node ${name}: metadata.labels[${Labels.RolloutPostpone}]: "${value}" is ignored; ${fix}`];
}

function unclearPreservation(annotations: Readonly<Record<string, string>> | undefined): readonly string[] {
  const value = annotations?.[Annotations.Preserve] ?? '';
  const values: readonly string[] = Object.values(PreserveValues);
  if (value === '' || values.includes(value)) return [];
  return [`${annotation(Annotations.Preserve)}: "${value}" is ignored; write one of ${values.join(', ')}`];
}

/**
 * Returns warnings about misleading values of labels and annotations on the Node. A value such as "no" has the same
 * effect as any other value.
 */
const misleadingMarks = (node: Node): readonly string[] =>
  [Labels.CandidateForUpdate, Labels.SelectedForUpdate, Annotations.NotManagedByMCM].flatMap((key) => {
    const problem = presenceProblem(node, key);
    return problem === undefined ? [] : [`Node ${node.metadata.name}: ${problem}`];
  });

const LIKE = 'write a duration of at least 0s, such as "1h30m"';
const annotation = (key: string): string => `metadata.annotations[${key}]`;

export function annotationWarnings(annotations: Readonly<Record<string, string>>): readonly string[] {
  const said: string[] = [];
  const creation = annotations[Annotations.EffectiveCreationTimeout];
  if (creation !== undefined && !isDuration(creation))
    said.push(
      `${annotation(Annotations.EffectiveCreationTimeout)}: "${creation}" is not a duration and is ignored; ${LIKE}`,
    );
  const priority = annotations[Annotations.Priority];
  if (priority !== undefined && !/^[+-]?\d+$/.test(priority))
    said.push(
      `${annotation(Annotations.Priority)}: "${priority}" is not an integer, so mcm uses 3; write an integer such as "1"`,
    );
  said.push(...unclearPreservation(annotations));
  said.push(...drainTimeoutProblems(annotations), ...drainRuleProblems(annotations));
  said.push(...driftPolicyProblems(annotations));
  const override = annotations[Annotations.BreakerOverride];
  const overrideIs = override === undefined ? undefined : overrideProblem(override);
  if (overrideIs) said.push(`${annotation(Annotations.BreakerOverride)}: ${overrideIs}`);
  return said;
}

/**
 * Returns one warning for each invalid setting of a machine, as a sentence with the field and a hint. The CRDs of the
 * original accept invalid settings, and no CRD checks annotations.
 * @param namesakes Machines whose label names the Node of the machine, including the machine itself.
 */
export function validationWarningsOf(
  machine: Machine,
  choice: PolicyChoice,
  namesakes: readonly Machine[],
  node?: Node,
  hooks?: HookDefinitions,
): readonly string[] {
  const { annotations = {} } = machine.metadata;
  const said: string[] = [
    ...unclearBooleans(machine),
    ...(node ? [...misleadingMarks(node), ...unclearPostponement(node)] : []),
  ];
  for (const field of DURATIONS) {
    const text = machine.spec[field];
    if (text !== undefined && !isDuration(text))
      said.push(`spec.${field}: "${text}" is not a duration, so mcm uses the default of the controller; ${LIKE}`);
  }
  said.push(...annotationWarnings(annotations));
  if (node)
    said.push(
      ...unclearPreservation(node.metadata.annotations).map((problem) => `Node ${node.metadata.name}: ${problem}`),
    );
  if (choice.problem) said.push(choice.problem);
  said.push(...(hooks?.problems ?? []));
  const twin = namesakes.find(({ metadata }) => metadata.uid !== machine.metadata.uid && !metadata.deletionTimestamp);
  if (twin)
    said.push(
      `metadata.labels[${Labels.Node}]: "${machine.metadata.labels?.[Labels.Node] ?? ''}" is also the node of machine ${twin.metadata.name}; delete one of the machines, and use unique VM names`,
    );
  return said;
}
