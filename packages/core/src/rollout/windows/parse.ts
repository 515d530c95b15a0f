import { Annotations, parseDurationMs } from '@mcm/api';
import { Cron } from 'croner';
import type { Violation } from '../../objects/violations.ts';
import { parseInstant } from '../../values/integers.ts';

/** A maintenance window: a recurring period in which rollouts may continue. */
export interface Window {
  readonly text: string;
  readonly schedule: Cron;
  readonly durationMs: number;
}

/** A period in which rollouts must not continue, in milliseconds since 1970. */
export interface Freeze {
  readonly from: number;
  readonly until: number;
  readonly reason: string;
}

/** The windows and freezes of an object; without a window, rollouts may continue at any time except during a freeze. */
export interface WindowRules {
  readonly windows: readonly Window[];
  readonly freezes: readonly Freeze[];
  /** The windows and freezes have no effect before this time, because a user overrides them. */
  readonly openUntil: number | undefined;
}

const NO_RULES: WindowRules = { windows: [], freezes: [], openUntil: undefined };

const KEYS = {
  windows: Annotations.RolloutWindows,
  freezes: Annotations.RolloutFreezes,
  openUntil: Annotations.RolloutOpenUntil,
} as const;

export const sameRules = (
  a: Readonly<Record<string, string>> | undefined,
  b: Readonly<Record<string, string>> | undefined,
): boolean => Object.values(KEYS).every((key) => a?.[key] === b?.[key]);

const LONGEST_MS = 7 * 24 * 60 * 60_000;

const entriesOf = (text: string): readonly string[] =>
  text
    .split(/[;\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

type Parsed<T> = { readonly value: T } | { readonly problem: string };

const isZone = (zone: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }) !== undefined;
  } catch {
    return false;
  }
};

function scheduleOf(pattern: string, zone: string): Cron | undefined {
  try {
    return new Cron(pattern, { timezone: zone, mode: '5-part' });
  } catch {
    return undefined;
  }
}

const FORMAT = 'five cron fields, a time zone and a duration, such as "0 22 * * MON-FRI Europe/Berlin 4h"';

function parseWindow(text: string): Parsed<Window> {
  const fields = text.split(/\s+/);
  const [zone = '', length = ''] = fields.slice(5);
  if (fields.length !== 7) return { problem: `"${text}" must have the format ${FORMAT}` };
  if (!isZone(zone)) return { problem: `"${text}": "${zone}" must be a time zone such as Europe/Berlin or UTC` };
  const durationMs = parseDurationMs(length);
  if (durationMs === undefined || durationMs < 60_000 || durationMs > LONGEST_MS) {
    return { problem: `"${text}": "${length}" must be a duration from 1m to 168h` };
  }
  const schedule = scheduleOf(fields.slice(0, 5).join(' '), zone);
  if (schedule === undefined) return { problem: `"${text}" must have the format ${FORMAT}` };
  if (schedule.nextRun(new Date(0)) === null)
    return { problem: `"${text}" never opens: no date matches the cron fields` };
  return { value: { text, schedule, durationMs } };
}

function parseFreeze(text: string): Parsed<Freeze> {
  const [times = '', ...words] = text.split(/\s+/);
  const [start, end, ...rest] = times.split('/');
  const [from, until] = [parseInstant(start), parseInstant(end)];
  if (from === undefined || until === undefined || rest.length > 0 || words.length === 0) {
    return {
      problem: `"${text}" must be two RFC 3339 times and a reason, such as "2026-12-20T00:00:00Z/2027-01-04T06:00:00Z holidays"`,
    };
  }
  if (until <= from) return { problem: `"${text}": the second time must be after the first` };
  return { value: { from, until, reason: words.join(' ') } };
}

/** Parses the valid entries of the annotations with windows and freezes. */
export function parseRules(annotations: Readonly<Record<string, string>> = {}): {
  readonly rules: WindowRules;
  readonly violations: readonly Violation[];
} {
  const { [KEYS.windows]: windows, [KEYS.freezes]: freezes, [KEYS.openUntil]: openText } = annotations;
  if (windows === undefined && freezes === undefined && openText === undefined)
    return { rules: NO_RULES, violations: [] };
  const violations: Violation[] = [];
  const read = <T>(key: string, text: string | undefined, parse: (entry: string) => Parsed<T>): readonly T[] =>
    entriesOf(text ?? '').flatMap((entry) => {
      const parsed = parse(entry);
      if ('value' in parsed) return [parsed.value];
      violations.push({ field: `metadata.annotations[${key}]`, message: parsed.problem });
      return [];
    });
  const rules = {
    windows: read(KEYS.windows, windows, parseWindow),
    freezes: read(KEYS.freezes, freezes, parseFreeze),
    openUntil: parseInstant(openText),
  };
  if (openText !== undefined && rules.openUntil === undefined) {
    const message = 'must be an RFC 3339 time such as "2026-12-24T18:00:00Z"';
    violations.push({ field: `metadata.annotations[${KEYS.openUntil}]`, message });
  }
  return { rules, violations };
}
