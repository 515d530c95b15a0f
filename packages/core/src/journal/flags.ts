import { type FlagValues, flagGroup, integerFlag } from '@mcm/kube';
import { Journal } from './journal.ts';

/** The maximum number of records for each object and kind of decision; a machine has about 14 different decisions. */
const PER_OBJECT = 16;

/** The flags of the decision journal. */
export const journalFlags = flagGroup('Journal', {
  'journal-records': integerFlag({
    min: 0,
    default: 2_000,
    help: 'maximum number of recent decisions that the process keeps in memory for "mcm journal"; 0: none',
  }),
});

/** Creates a journal, which needs at most 18 MB with its default size (docs/sizing.md). */
export const journalOf = (flags: FlagValues<typeof journalFlags>): Journal =>
  new Journal({ perObject: PER_OBJECT, total: flags['journal-records'] });
