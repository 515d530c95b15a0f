import { Annotations, type MachineClass } from '@mcm/api';
import { MachineError } from '../contract/errors.ts';
import { type Alternative, type AlternativeField, parseAlternatives } from './alternative.ts';

/** The cloud fields on which the available capacity depends, such as the machine type and the zone. */
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
  apply(spec: Spec, alternative: Alternative): Spec;
  /**
   * Returns the reason why a provider spec forbids an alternative. The text starts with the field and ends with the
   * fix.
   */
  problem?(spec: Spec, alternative: Alternative): string | undefined;
  /** Returns the offering of a provider spec. Classes with equal offerings share one capacity. */
  offering(spec: Spec): Offering;
  /** Returns the part of the cloud in which `list` searches. mcm calls `list` once for each part. */
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

/**
 * Returns the alternatives of a class. A VM must not get an unintended offering, so an annotation with a problem
 * disables all alternatives.
 */
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
 * Applies an alternative to a provider spec.
 * @throws MachineError `Unimplemented` if the driver supports no
 * alternatives
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
