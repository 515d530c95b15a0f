import { Annotations } from '@mcm/api';
import { isRecord } from '@mcm/kube';
import { ignoredAnnotations } from '../deployment/state/ignored-input.ts';
import { parseAlternatives } from '../driver/offerings/alternative.ts';
import { parseHooks } from '../hooks/definitions.ts';
import { driftPolicyProblems } from '../node/drift.ts';
import type { Violation } from '../objects/violations.ts';
import { rolloutSettingViolations } from '../rollout/rollout-gate.ts';
import { parseRules } from '../rollout/windows/parse.ts';
import { drainRuleProblems } from '../settings/drain-rules.ts';
import { drainTimeoutProblems } from '../settings/drain-timeouts.ts';
import { undrainableProblem } from '../settings/undrainable.ts';
import { annotationWarnings } from '../settings/validation-warnings.ts';
import { parseZones } from '../zones/setting.ts';

interface Annotated {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
}

function annotated(object: unknown): Annotated {
  const metadata = isRecord(object) && isRecord(object.metadata) ? object.metadata : {};
  const { annotations } = metadata;
  const entries = Object.entries(isRecord(annotations) ? annotations : {});
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { metadata: { annotations: Object.fromEntries(texts) } };
}

const fieldOf = (key: string): string => `metadata.annotations[${key}]`;

const alternatives = ({ metadata }: Annotated): readonly string[] =>
  parseAlternatives(metadata.annotations[Annotations.CapacityAlternatives]).problems.map((problem) =>
    problem.replace(Annotations.CapacityAlternatives, fieldOf),
  );

const hooks = ({ metadata }: Annotated): readonly string[] =>
  parseHooks(metadata.annotations[Annotations.Hooks] ?? '').problems.map(
    (problem) => `${fieldOf(Annotations.Hooks)}: ${problem}`,
  );

const undrainable = ({ metadata }: Annotated): readonly string[] => {
  const problem = undrainableProblem(metadata.annotations);
  return problem === undefined ? [] : [problem];
};

const drainSettings = ({ metadata }: Annotated): readonly string[] => [
  ...drainTimeoutProblems(metadata.annotations),
  ...drainRuleProblems(metadata.annotations),
];

const windows = ({ metadata }: Annotated): readonly string[] => sentences(parseRules(metadata.annotations).violations);

const sentences = (violations: readonly Violation[]): readonly string[] =>
  violations.map(({ field, message }) => `${field}: ${message}`);

const CHECKS: Readonly<Record<string, (object: Annotated) => readonly string[]>> = {
  Machine: (machine) => [
    ...annotationWarnings(machine.metadata.annotations),
    ...undrainable(machine),
    ...hooks(machine),
    ...alternatives(machine),
  ],
  MachineDeployment: (deployment) => [
    ...ignoredAnnotations(deployment),
    ...sentences(rolloutSettingViolations(deployment)),
    ...windows(deployment),
    ...sentences(parseZones(deployment).problems),
    ...alternatives(deployment),
  ],
  MachineClass: (machineClass) => [
    ...undrainable(machineClass),
    ...drainSettings(machineClass),
    ...driftPolicyProblems(machineClass.metadata.annotations),
    ...windows(machineClass),
    ...hooks(machineClass),
    ...alternatives(machineClass),
  ],
};

/**
 * Returns a warning for each annotation that becomes invalid, with the field and the fix. An invalid annotation causes
 * only a warning, because the API server must accept every change of metadata.
 */
export function newAnnotationWarnings(kind: string, object: unknown, oldObject: unknown): readonly string[] {
  const check = CHECKS[kind];
  if (!check) return [];
  const stored = check(annotated(oldObject));
  return check(annotated(object)).filter((warning) => !stored.includes(warning));
}
