import { isRecord } from '@mcm/kube';
import type { Subject } from '../journal/journal.ts';
import { BadRecord, Decoder, type Json } from './codec.ts';
import { JOURNAL_FORMAT } from './write-journal.ts';

/** The error for a text that is not a journal, or whose format this version of mcm cannot read. */
export class BadJournal extends Error {
  override readonly name = 'BadJournal';
}

/** A decision from a journal. The `kind` of a recorded decision may be unknown to this version of mcm. */
export interface RecordedDecision {
  readonly kind: string;
  readonly subject: Subject;
  readonly firstAt: string;
  readonly at: string;
  readonly count: number;
  readonly because: string;
  readonly actions: readonly string[];
  readonly outcome: string;
  readonly decision: Json;
  /**
   * @throws BadRecord
   */
  readonly input: () => unknown;
}

/** The records of one controller. */
export interface JournalText {
  readonly version: string;
  readonly controller: string;
  readonly at: string;
  readonly records: readonly RecordedDecision[];
  /** One sentence for each problem of the journal. All other records of the journal are valid. */
  readonly problems: readonly string[];
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each: unknown) => typeof each === 'string') : [];

/**
 * Parses the lines of a journal. A newer version of mcm may have written unknown lines and fields, so the parser skips
 * them.
 * @throws BadJournal if the text is not a journal, or has a format that this version of mcm cannot read
 */
export function readJournal(lines: Iterable<string>): JournalText {
  const reader = new Reader();
  for (const line of lines) reader.line(line);
  return reader.end();
}

class Reader {
  #header: Readonly<Record<string, unknown>> | undefined;
  readonly #decoder = new Decoder();
  readonly #records: RecordedDecision[] = [];
  readonly #problems: string[] = [];
  #count = 0;
  #end: number | undefined;

  line(line: string): void {
    this.#count += 1;
    if (line.trim() === '') return;
    const json = parsed(line);
    if (this.#header === undefined) this.#header = headerOf(json);
    else if (json === undefined) this.#problems.push(`line ${this.#count} is not JSON and was skipped`);
    else this.#add(json);
  }

  #add(json: Readonly<Record<string, unknown>>): void {
    if (typeof json.object === 'number') this.#decoder.add(json.object, json.value as Json);
    else if (isRecord(json.record)) this.#records.push(recordOf(json.record, this.#decoder));
    else if (typeof json.end === 'number') this.#end = json.end;
  }

  end(): JournalText {
    const header = this.#header;
    if (header === undefined) throw new BadJournal('the journal is empty');
    if (this.#end !== this.#records.length) {
      const expected = this.#end === undefined ? 'the last line is missing' : `the last line states ${this.#end}`;
      this.#problems.push(`the journal is incomplete: the file has ${this.#records.length} records, but ${expected}`);
    }
    const about = { version: text(header.version), controller: text(header.controller), at: text(header.at) };
    return { ...about, records: this.#records, problems: this.#problems };
  }
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(line);
    return isRecord(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

function headerOf(json: Readonly<Record<string, unknown>> | undefined): Readonly<Record<string, unknown>> {
  const format = json?.journal;
  if (json === undefined || typeof format !== 'number') throw new BadJournal('the file is not an mcm journal');
  if (format > JOURNAL_FORMAT) {
    const by = `mcm ${text(json.version)} wrote the journal in format ${format}, but this version reads format ${JOURNAL_FORMAT}`;
    throw new BadJournal(`${by}; use a newer version of mcm`);
  }
  return json;
}

function recordOf(record: Readonly<Record<string, unknown>>, decoder: Decoder): RecordedDecision {
  const { subject, input } = record;
  const { kind, namespace, name, uid } = isRecord(subject) ? subject : {};
  return {
    kind: text(record.kind),
    subject: { kind: text(kind), namespace: text(namespace), name: text(name), uid: text(uid) },
    firstAt: text(record.firstAt),
    at: text(record.at),
    count: typeof record.count === 'number' ? record.count : 1,
    because: text(record.because),
    actions: texts(record.actions),
    outcome: text(record.outcome),
    decision: (record.decision ?? null) as Json,
    input: () => {
      if (input === undefined) throw new BadRecord('the record has no input');
      return decoder.decode(input as Json);
    },
  };
}
