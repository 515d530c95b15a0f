import { Annotations, type MachineClass } from '@mcm/api';
import { MachineError } from '../contract/errors.ts';
import { type Alternative, type AlternativeField, parseAlternatives } from './alternative.ts';

/** The values that determine the capacity of a cloud for an account. */
export interface Offering {
  readonly region: string;
  readonly zone: string;
  readonly subnet: string;
  readonly machineType: string;
  readonly market: string;
}

/** Defines how a driver applies alternatives to its provider spec. */
export interface AlternativeRules<Spec> {
  readonly fields: readonly AlternativeField[];
  /** Returns the provider spec with the fields of the alternative. */
  apply(spec: Spec, alternative: Alternative): Spec;
  /**
   * Returns the problems of an alternative with the provider spec, as `zone: … ; …`. The text starts with the field and
   * ends with the fix.
   */
  problem?(spec: Spec, alternative: Alternative): string | undefined;
  /** Provider specs with equal offerings share their capacity. */
  offering(spec: Spec): Offering;
  /**
   * Returns the part of the cloud that `list` searches for a provider spec, such as a zone. Each part of the cloud,
   * such as a zone, needs its own listing. Without `listing`, one listing returns the VMs of all alternatives.
   */
  listing?(spec: Spec): string;
}

/** Returns one sentence for each problem of the alternatives. */
export function alternativeProblems<Spec>(
  rules: AlternativeRules<Spec> | undefined,
  text: string | undefined,
  spec: Spec,
): readonly string[] {
  if (text === undefined || text.trim() === '') return [];
  const key = Annotations.CapacityAlternatives;
  if (!rules) return [`${key}: has no effect, because the driver supports no alternatives; remove the annotation`];
  const { alternatives, problems } = parseAlternatives(text, rules.fields);
  if (problems.length > 0) return problems;
  return alternatives.flatMap((alternative, i) => {
    const problem = problemOf(rules, spec, alternative);
    return problem === undefined ? [] : [`${key}[${i}].${problem}`];
  });
}

/** If the annotation has a problem, no alternative is used, because a VM must not get an unintended offering. */
export function usableAlternatives<Spec>(
  rules: AlternativeRules<Spec>,
  text: string | undefined,
  spec: Spec,
): readonly Alternative[] {
  const problems = alternativeProblems(rules, text, spec);
  return problems.length > 0 ? [] : parseAlternatives(text, rules.fields).alternatives;
}

const problemOf = <Spec>(rules: AlternativeRules<Spec>, spec: Spec, alternative: Alternative): string | undefined =>
  rules.problem?.(spec, alternative);

/**
 * @throws MachineError `Unimplemented` if the driver supports no alternatives
 */
export function specWith<Spec>(
  rules: AlternativeRules<Spec> | undefined,
  spec: Spec,
  alternative: Alternative | undefined,
): Spec {
  if (alternative === undefined) return spec;
  if (rules) return rules.apply(spec, alternative);
  throw new MachineError(
    'Unimplemented',
    `annotation ${Annotations.CapacityOffering}: the driver supports no alternatives; use a driver with support for alternatives`,
  );
}

export const classAlternatives = ({ metadata }: MachineClass): string | undefined =>
  metadata.annotations?.[Annotations.CapacityAlternatives];
