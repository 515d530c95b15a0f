import { Annotations, type MachineClass } from '@mcm/api';
import { MachineError } from '../contract/errors.ts';
import { type Alternative, type AlternativeField, parseAlternatives } from './alternative.ts';

/** What the capacity of an account depends on. */
export interface Offering {
  readonly region: string;
  readonly zone: string;
  readonly subnet: string;
  readonly machineType: string;
  readonly market: string;
}

/** How a driver applies alternatives to its provider spec. All functions are pure. */
export interface AlternativeRules<Spec> {
  /** The fields that an alternative may have. */
  readonly fields: readonly AlternativeField[];
  /** The provider spec with the fields of the alternative. All other fields stay. */
  apply(spec: Spec, alternative: Alternative): Spec;
  /**
   * The reason why the alternative cannot work with the provider spec, as `zone: … ; …` with the field first and the fix
   * last. Absent or undefined: none.
   */
  problem?(spec: Spec, alternative: Alternative): string | undefined;
  /** The offering of a provider spec. Two specs with equal values share their capacity. */
  offering(spec: Spec): Offering;
  /**
   * The part of the cloud that `list` searches for the spec, such as its zone. Alternatives in another part need a listing of
   * their own. Absent: one listing contains the VMs of all alternatives.
   */
  listing?(spec: Spec): string;
}

/** The problems of the alternatives of an object for a provider spec, one sentence each. */
export function alternativeProblems<Spec>(
  rules: AlternativeRules<Spec> | undefined,
  text: string | undefined,
  spec: Spec,
): readonly string[] {
  if (text === undefined || text.trim() === '') return [];
  const key = Annotations.CapacityAlternatives;
  if (!rules) return [`${key}: has no effect, because the driver supports no alternatives; remove it`];
  const { alternatives, problems } = parseAlternatives(text, rules.fields);
  if (problems.length > 0) return problems;
  return alternatives.flatMap((alternative, i) => {
    const problem = problemOf(rules, spec, alternative);
    return problem === undefined ? [] : [`${key}[${i}].${problem}`];
  });
}

/** The alternatives that can work. A list with any problem counts as empty, so no VM has an unintended offering. */
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
 * The provider spec with an alternative.
 * @throws MachineError `Unimplemented`: the driver supports no alternatives
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
    `annotation ${Annotations.CapacityOffering}: the driver supports no alternatives; use a driver that does`,
  );
}

/** The text of the alternatives of a class. */
export const classAlternatives = ({ metadata }: MachineClass): string | undefined =>
  metadata.annotations?.[Annotations.CapacityAlternatives];
