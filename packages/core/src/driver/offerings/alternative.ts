import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import { isRecord } from '@mcm/kube';
import { MachineError } from '../contract/errors.ts';

/** The purchase option of a VM: on-demand or spot. */
export type Market = 'spot' | 'on-demand';

/**
 * An alternative offering for the VMs of a class. A missing field of an alternative has the value of the provider spec.
 */
export interface Alternative {
  readonly machineType?: string | undefined;
  readonly zone?: string | undefined;
  readonly subnet?: string | undefined;
  readonly market?: Market | undefined;
}

/** A field that an alternative may have. */
export type AlternativeField = keyof Alternative;

export interface Choice {
  readonly record: string;
  /**
   * A key that consists of the provider, the account and the cloud fields of the offering. A lack of capacity for a key
   * affects all classes with the key.
   */
  readonly key: string;
  readonly text: string;
  readonly labels: Readonly<Record<'machine_type' | 'zone' | 'subnet' | 'market', string>>;
}

const FIELDS: readonly AlternativeField[] = ['machineType', 'zone', 'subnet', 'market'];
const MARKETS: readonly string[] = ['spot', 'on-demand'] satisfies readonly Market[];

const MOST = 20;

/** The content of the annotation with alternatives. If the annotation has a problem, `alternatives` is empty. */
export interface ParsedAlternatives {
  readonly alternatives: readonly Alternative[];
  readonly problems: readonly string[];
}

const NONE: ParsedAlternatives = { alternatives: [], problems: [] };
const KEY = Annotations.CapacityAlternatives;

export function parseAlternatives(text: string | undefined, supported = FIELDS): ParsedAlternatives {
  if (text === undefined || text.trim() === '') return NONE;
  const list = parseJson(text);
  if (!Array.isArray(list))
    return refused(`${KEY}: is not a JSON list; write a list such as [{"machineType": "large"}]`);
  if (list.length > MOST)
    return refused(`${KEY}: has ${list.length} entries, but at most ${MOST} are allowed; remove entries`);
  const problems = list.flatMap((entry: unknown, i) => entryProblems(entry, `${KEY}[${i}]`, supported));
  return problems.length > 0 ? refused(...problems) : { alternatives: list.map(normal), problems };
}

const refused = (...problems: readonly string[]): ParsedAlternatives => ({ alternatives: [], problems });

function entryProblems(entry: unknown, path: string, supported: readonly AlternativeField[]): readonly string[] {
  const allowed = supported.join(', ');
  if (!isRecord(entry)) return [`${path}: is not an object; write an object with the fields ${allowed}`];
  if (Object.keys(entry).length === 0) return [`${path}: is empty; write at least one of the fields ${allowed}`];
  return Object.entries(entry).flatMap(([field, value]) => {
    if (!supported.some((known) => known === field))
      return [`${path}.${field}: is not a field of an alternative of this provider; use ${allowed}`];
    if (typeof value !== 'string' || value === '') return [`${path}.${field}: must be a non-empty string`];
    if (field === 'market' && !MARKETS.includes(value))
      return [`${path}.market: is ${JSON.stringify(value)}; write ${MARKETS.join(' or ')}`];
    return [];
  });
}

const normal = (entry: Readonly<Record<string, unknown>>): Alternative =>
  Object.fromEntries(FIELDS.filter((field) => entry[field] !== undefined).map((field) => [field, entry[field]]));

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the text that mcm records on a Machine for an offering. The record of the first choice is `{}`. */
export const recordOf = (alternative: Alternative): string => JSON.stringify(normal({ ...alternative }));

/**
 * Returns the offering that is recorded on a Machine.
 * @throws MachineError `InvalidArgument` if a user changed the record to an invalid value.
 */
export function recordedAlternative(machine: Machine): Alternative | undefined {
  const { metadata } = machine;
  const text = metadata.annotations?.[Annotations.CapacityOffering];
  if (text === undefined || text === '{}') return undefined;
  const alternative = offeringOf(machine);
  if (alternative) return alternative;
  throw new MachineError(
    'InvalidArgument',
    `annotation ${Annotations.CapacityOffering} of machine ${metadata.name} is not an offering; restore its previous value`,
  );
}

/** Returns the offering that is recorded on a Machine, or undefined if the record is missing or invalid. */
export const offeringOf = (machine: Machine): Alternative | undefined =>
  alternativeIn(machine, Annotations.CapacityOffering);

/** Returns the zone for which the machine was created, or undefined if the machine may be in any zone. */
export const zoneOfferingOf = (machine: Machine): Alternative | undefined =>
  alternativeIn(machine, Annotations.ZoneOffering);

function alternativeIn({ metadata }: Machine, key: string): Alternative | undefined {
  const value = parseJson(metadata.annotations?.[key] ?? '');
  return isRecord(value) && entryProblems(value, key, FIELDS).length === 0 ? normal(value) : undefined;
}

export const alternativesText = (machine: Machine, machineClass: MachineClass): string | undefined =>
  machine.metadata.annotations?.[KEY] ?? machineClass.metadata.annotations?.[KEY];

/** Formats an offering for messages, such as `machineType m6i.large, zone b`. */
export const alternativeText = (alternative: Alternative): string => {
  const fields = Object.entries(normal({ ...alternative })).map(([field, value]) => `${field} ${String(value)}`);
  return fields.length === 0 ? 'the first choice' : fields.join(', ');
};
