import { Annotations } from '@mcm/api';
import { type Alternative, parseAlternatives, recordOf } from '../driver/offerings/alternative.ts';
import { type IntOrPercent, resolveIntOrPercent } from '../objects/limits.ts';
import type { Violation } from '../objects/violations.ts';
import { parseInstant } from '../values/integers.ts';

/** One zone of a deployment. */
export interface Zone {
  readonly name: string;
  readonly offering: Alternative;
}

/** The zones of a deployment, and the settings of the zones. */
export interface ZoneSetting {
  readonly zones: readonly Zone[];
  /** The names of evacuated zones. mcm replaces the machines of these zones in other zones. */
  readonly evacuated: ReadonlySet<string>;
  /** The names of zones whose machines are all unreachable, with the time in milliseconds since 1970. */
  readonly standby: ReadonlyMap<string, number>;
  /** The names of zones in which an evacuation found no capacity, with the time in milliseconds since 1970. */
  readonly short: ReadonlyMap<string, number>;
  /** The number or percentage of the machines in each zone that may be missing during a rollout (default: no limit). */
  readonly maxUnavailable?: IntOrPercent | undefined;
}

export interface ParsedZones {
  readonly setting?: ZoneSetting | undefined;
  readonly problems: readonly Violation[];
}

interface Annotated {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
}

const fieldOf = (key: string): string => `metadata.annotations[${key}]`;

const FIELD = fieldOf(Annotations.Zones);
const EVACUATED = fieldOf(Annotations.ZonesEvacuated);
const MAX_UNAVAILABLE = fieldOf(Annotations.ZonesMaxUnavailable);

const entriesOf = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** Parses the zones in the annotations of a deployment. */
export function parseZones({ metadata: { annotations = {} } }: Annotated): ParsedZones {
  const text = annotations[Annotations.Zones];
  const evacuated = entriesOf(annotations[Annotations.ZonesEvacuated]);
  if (text === undefined || text.trim() === '') {
    const message = `has no effect without the annotation ${Annotations.Zones}; add the list of zones, or remove the annotation`;
    const fields = [
      ...(evacuated.length > 0 ? [EVACUATED] : []),
      ...(annotations[Annotations.ZonesMaxUnavailable] === undefined ? [] : [MAX_UNAVAILABLE]),
    ];
    return { problems: fields.map((field) => ({ field, message })) };
  }
  const { zones, problems } = zonesOf(text);
  if (problems.length > 0) return { problems };
  const limit = limitOf(annotations[Annotations.ZonesMaxUnavailable]);
  const rest = [...evacuationProblems(zones, evacuated), ...limit.problems, ...conflicts(annotations)];
  if (rest.length > 0) return { problems: rest };
  const standby = timesOf(annotations[Annotations.ZonesStandby]);
  const short = timesOf(annotations[Annotations.ZonesShort]);
  const { maxUnavailable } = limit;
  return { setting: { zones, evacuated: new Set(evacuated), standby, short, maxUnavailable }, problems: [] };
}

/** Parses entries `<zone>=<time>`. */
function timesOf(text: string | undefined): ReadonlyMap<string, number> {
  const entries = entriesOf(text).flatMap((entry) => {
    const [name = '', time] = entry.split('=');
    const at = parseInstant(time);
    return at === undefined ? [] : [[name, at] as const];
  });
  return new Map(entries);
}

/** Parses the limit for each zone: an integer of at least 1, or a percentage. */
function limitOf(text: string | undefined): Pick<ZoneSetting, 'maxUnavailable'> & Pick<ParsedZones, 'problems'> {
  if (text === undefined) return { problems: [] };
  const value = /^\d+$/.test(text) ? Number(text) : text;
  const resolved = resolveIntOrPercent(value, 100, 'down') ?? 0;
  if (resolved > 0) return { maxUnavailable: value, problems: [] };
  const message = `must be a number of at least 1, or a percentage such as 25%, not ${JSON.stringify(text)}`;
  return { problems: [{ field: MAX_UNAVAILABLE, message }] };
}

function zonesOf(text: string): { readonly zones: readonly Zone[]; readonly problems: readonly Violation[] } {
  const { alternatives, problems } = parseAlternatives(text);
  if (problems.length > 0) {
    const messages = problems.map((problem) => problem.replace(Annotations.CapacityAlternatives, ''));
    const violations = messages.map((text) =>
      violation(text.slice(0, text.indexOf(': ')), text.slice(text.indexOf(': ') + 2)),
    );
    return { zones: [], problems: violations };
  }
  const zones = alternatives.map((offering) => ({ name: offering.zone ?? '', offering }));
  const names = zones.map(({ name }) => name);
  const wrong = names.flatMap((name, i) => {
    if (name === '') return [violation(`[${i}].zone`, 'is missing; write the name of the zone')];
    if (names.indexOf(name) < i) return [violation(`[${i}].zone`, `${name} occurs twice; remove one of the entries`)];
    return /[,=\s]/.test(name)
      ? [violation(`[${i}].zone`, `${JSON.stringify(name)} is not a valid name of a zone`)]
      : [];
  });
  if (wrong.length > 0) return { zones: [], problems: wrong };
  if (zones.length === 0)
    return { zones, problems: [violation('', 'has no zone; add zones, or remove the annotation')] };
  return { zones, problems: [] };
}

const violation = (path: string, message: string): Violation => ({ field: `${FIELD}${path}`, message });

function evacuationProblems(zones: readonly Zone[], evacuated: readonly string[]): readonly Violation[] {
  const names = zones.map(({ name }) => name);
  const unknown = evacuated.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const message = `contains ${unknown.join(', ')}, which the list of zones does not contain; use ${names.join(', ')}`;
    return [{ field: EVACUATED, message }];
  }
  return names.every((name) => evacuated.includes(name))
    ? [
        {
          field: EVACUATED,
          message: 'contains all zones, so machines can run in no zone; remove one zone from the annotation',
        },
      ]
    : [];
}

/** Warm machines are created before their zone is known, so zones and warm machines cannot be combined. */
function conflicts(annotations: Readonly<Record<string, string>>): readonly Violation[] {
  const { [Annotations.WarmMachines]: warm = '0', [Annotations.WarmBuffer]: buffer = '' } = annotations;
  const keys = [
    ...(warm.trim() === '0' ? [] : [Annotations.WarmMachines]),
    ...(buffer.trim() === '' ? [] : [Annotations.WarmBuffer]),
  ];
  return keys.map((key) => ({
    field: FIELD,
    message: `cannot be combined with annotation ${key}; remove one of the annotations`,
  }));
}

/** Returns the zones of a deployment, or undefined without valid zones. */
export const zoneSettingOf = (deployment: Annotated | undefined): ZoneSetting | undefined =>
  deployment && parseZones(deployment).setting;

/** Returns the name of the recorded zone, or undefined if a user edited the text to an invalid value. */
export const zoneNameIn = (text: string): string | undefined => parseAlternatives(`[${text}]`).alternatives[0]?.zone;

/** Returns the text for the annotation, with the complete offering of the zone. */
export const zoneText = ({ offering }: Zone): string => recordOf(offering);
