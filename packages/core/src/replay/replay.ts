import { NotRecorded } from '../journal/answers.ts';
import { BadRecord } from './codec.ts';
import { type FieldDifference, firstDifference } from './decision-json.ts';
import { isDecisionKind, repeatDecision } from './kinds.ts';
import type { RecordedDecision } from './read-journal.ts';

/** The type of `repeatDecision`, for tests that replace the function. */
export type Repeat = typeof repeatDecision;

/** A decision for which this version of mcm has another result, or which this version cannot repeat. */
export interface ReplayDifference {
  readonly record: RecordedDecision;
  readonly difference?: FieldDifference;
  readonly because: string;
}

/** The result of a replay. */
export interface ReplayResult {
  readonly repeated: number;
  readonly differences: readonly ReplayDifference[];
  readonly problems: readonly string[];
}

const nameOf = ({ kind, subject, at }: RecordedDecision): string => `${kind} of ${subject.name} at ${at}`;

/** Computes all decisions again from their recorded input, in the order of their times. */
export function replayJournal(records: readonly RecordedDecision[], repeat: Repeat = repeatDecision): ReplayResult {
  const differences: ReplayDifference[] = [];
  const problems: string[] = [];
  let repeated = 0;
  for (const record of records.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))) {
    try {
      const found = replayOne(record, repeat);
      if (found !== undefined) differences.push(found);
      if (found?.because !== UNKNOWN_KIND) repeated += 1;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      // A damaged file can contain values of wrong types.
      problems.push(`${nameOf(record)}: cannot use the input of the record: ${error.message}`);
    }
  }
  return { repeated, differences, problems };
}

const UNKNOWN_KIND = 'this version of mcm makes no decisions of this kind';

function replayOne(record: RecordedDecision, repeat: Repeat): ReplayDifference | undefined {
  if (!isDecisionKind(record.kind)) return { record, because: UNKNOWN_KIND };
  const input = record.input();
  try {
    const difference = firstDifference(record.decision, repeat(record.kind, input, new Date(record.at)));
    return difference && { record, difference, because: '' };
  } catch (error) {
    if (error instanceof NotRecorded)
      return { record, because: `this version of mcm needs more input: ${error.message}` };
    if (error instanceof BadRecord || !(error instanceof Error)) throw error;
    throw new BadRecord(error.message, { cause: error });
  }
}
