export { journalFlags, journalOf } from '../journal/flags.ts';
export { type DecisionKind, Journal, type JournalEntry, type JournalLimits, type Subject } from '../journal/journal.ts';
export { BadRecord } from './codec.ts';
export { type FieldDifference, firstDifference } from './decision-json.ts';
export { repeatDecision } from './kinds.ts';
export { JOURNAL_PATH, journalPage } from './page.ts';
export { BadJournal, type JournalText, type RecordedDecision, readJournal } from './read-journal.ts';
export { type ReplayDifference, type ReplayResult, replayJournal } from './replay.ts';
export { journalLines } from './write-journal.ts';
