import { type Clock, type DebugPage, sleep } from '@mcm/kube';
import { type Known, scrubber } from '../driver/secrets/evidence-text.ts';
import type { Journal, JournalEntry } from '../journal/journal.ts';
import { journalLines } from './write-journal.ts';

/** The path of the page with the journal of a controller. */
export const JOURNAL_PATH = '/debug/journal';

/** The output of the page pauses after this number of lines, so that the process can do other work. */
const LINES_AT_ONCE = 20;

interface JournalPageOptions {
  readonly journal: Journal;
  readonly version: string;
  readonly controller: string;
  readonly clock: Clock;
  /** Returns the secret values that the page removes, in addition to texts that look like secrets. */
  readonly known: () => Known;
}

/**
 * Creates the page with the journal of a controller, in the format of `journalLines`. The query parameters `kind`,
 * `namespace` and `name` select objects, and `limit` selects the newest records.
 */
export const journalPage = ({ journal, version, controller, clock, known }: JournalPageOptions): DebugPage => ({
  path: JOURNAL_PATH,
  help: '?kind=Machine&name=m-1&limit=100  the most recent decisions with their input, for "mcm journal" and "mcm replay"',
  answer: async (query) => {
    const entries = selected(journal.entries(), query);
    const lines: string[] = [];
    for (const line of journalLines({ version, controller, at: clock.now() }, entries, scrubber(known()))) {
      lines.push(line);
      if (lines.length % LINES_AT_ONCE === 0) await sleep(clock, 0);
    }
    return { contentType: 'application/x-ndjson', body: `${lines.join('\n')}\n` };
  },
});

function selected(entries: readonly JournalEntry[], query: URLSearchParams): readonly JournalEntry[] {
  const limit = query.get('limit') ?? '';
  if (!/^\d*$/.test(limit)) throw new RangeError('the parameter limit must be a number of records, such as limit=100');
  const wanted = (['kind', 'namespace', 'name'] as const).flatMap((field) => {
    const value = query.get(field);
    return value === null ? [] : [[field, value] as const];
  });
  const found = entries.filter(({ subject }) => wanted.every(([field, value]) => subject[field] === value));
  return limit === '' ? found : Number(limit) === 0 ? [] : found.slice(-Number(limit));
}
