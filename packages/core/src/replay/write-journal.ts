import type { JournalEntry } from '../journal/journal.ts';
import { Encoder, type Json } from './codec.ts';
import { completeDecision } from './kinds.ts';

/** The version of the journal format must increase with each change that older versions of mcm cannot read. */
export const JOURNAL_FORMAT = 1;

export interface JournalHeader {
  readonly version: string;
  readonly controller: string;
  readonly at: Date;
}

export type Scrub = (text: string) => string;

/**
 * Returns the records as lines of JSON, with the oldest record first. The text starts with a header, continues with the
 * records and their objects, and ends with the number of records. A journal without the last line is incomplete.
 */
export function* journalLines(
  { version, controller, at }: JournalHeader,
  entries: readonly JournalEntry[],
  scrub: Scrub,
): Generator<string> {
  yield lineOf({ journal: JOURNAL_FORMAT, version, controller, at: at.toISOString() }, scrub);
  const encoder = new Encoder();
  for (const entry of entries) {
    const record = recordOf(entry, encoder);
    for (const { number, object } of encoder.takeObjects()) yield lineOf({ object: number, value: object }, scrub);
    yield lineOf({ record }, scrub);
  }
  yield lineOf({ end: entries.length }, scrub);
}

/** Removes secrets from the lines of a journal. */
export const scrubbedJournal = (lines: readonly string[], scrub: Scrub): readonly string[] =>
  lines.map((line) => {
    const json = parsed(line);
    return json === undefined ? scrub(line).replaceAll('\n', ' ') : lineOf(json, scrub);
  });

function recordOf(entry: JournalEntry, encoder: Encoder): Json {
  const { kind, subject, firstAt, at, count, because, actions, outcome, input, decision } = entry;
  return {
    kind,
    subject: { ...subject },
    firstAt: firstAt.toISOString(),
    at: at.toISOString(),
    count,
    because,
    actions,
    outcome,
    decision: completeDecision(kind, input, decision, at),
    input: encoder.encode(input),
  };
}

/** If the redaction of the whole line breaks the JSON syntax, the function redacts each text in the line separately. */
function lineOf(json: Json, scrub: Scrub): string {
  const line = JSON.stringify(json);
  const clean = scrub(line);
  if (clean === line || (parsed(clean) !== undefined && !clean.includes('\n'))) return clean;
  return JSON.stringify(scrubbed(json, scrub));
}

function parsed(line: string): Json | undefined {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
}

function scrubbed(json: Json, scrub: Scrub, key = ''): Json {
  if (typeof json === 'string') {
    const prefix = `"${key}": "`;
    const clean = scrub(`${prefix}${json}"`);
    return clean.startsWith(prefix) && clean.endsWith('"') ? clean.slice(prefix.length, -1) : '***';
  }
  if (json === null || typeof json !== 'object') return json;
  if (Array.isArray(json)) return json.map((each: Json) => scrubbed(each, scrub, key));
  return Object.fromEntries(Object.entries(json).map(([name, each]) => [name, scrubbed(each as Json, scrub, name)]));
}
