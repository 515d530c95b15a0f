import { Journal } from '../journal/journal.ts';
import { readJournal } from './read-journal.ts';
import { type Repeat, type ReplayResult, replayJournal } from './replay.ts';
import { journalLines } from './write-journal.ts';

export const testJournal = (): Journal => new Journal({ perObject: 32, total: 5_000 });

export const textOf = (journal: Journal, scrub = (text: string): string => text): readonly string[] => [
  ...journalLines({ version: '1.2.3', controller: 'test', at: new Date(0) }, journal.entries(), scrub),
];

export const replayed = (journal: Journal, repeat?: Repeat): ReplayResult =>
  replayJournal(readJournal(textOf(journal)).records, repeat);
