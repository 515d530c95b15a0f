import { realClock } from '@mcm/kube';
import { type Telling, tell } from '../cluster/answers.ts';
import { type AskFlags, reference } from '../cluster/cluster-options.ts';
import { UserError } from '../command/errors.ts';
import { type ControllerFlags, controllerUrls, type Fetch, fetchJournals, REACH_HINT } from './controllers.ts';
import { type JournalScope, journalLines, journalRows } from './rows.ts';

export type JournalFlags = AskFlags & ControllerFlags & { readonly limit?: string };

/** The kinds of objects about which decisions are recorded. */
const KINDS: readonly string[] = ['Machine', 'MachineSet', 'MachineDeployment', 'Node'];

/** `mcm journal`. */
export async function reportJournal(
  object: string | undefined,
  flags: JournalFlags,
  telling: Telling,
  fetch?: Fetch,
): Promise<void> {
  const scope = object === undefined ? undefined : scopeOf(object);
  const { limit, namespace } = flags;
  if (limit !== undefined && !/^[1-9]\d*$/.test(limit))
    throw new UserError(`--limit ${limit} must be a number of decisions, such as 20`);
  const urls = controllerUrls(flags);
  const query = { namespace, name: scope?.name };
  const { found, problems } = await fetchJournals(urls, query, fetch);
  if (found.length === 0) throw new UserError(`${problems.join('; ')}; ${REACH_HINT}`);
  const journals = found.map(({ journal }) => journal);
  for (const problem of [...problems, ...journals.flatMap((journal) => journal.problems)])
    telling.warn(`mcm: ${problem}`);
  const all = journalRows(journals, scope);
  const model = limit === undefined ? all : all.slice(-Number(limit));
  const now = realClock.now();
  tell(telling, flags.output, { model, unread: new Set() }, (rows, wide) => journalLines(rows, now, wide));
}

function scopeOf(text: string): JournalScope {
  const { kind = 'MachineDeployment', name } = reference(text);
  if (KINDS.includes(kind)) return { kind, name };
  throw new UserError(`a ${kind.toLowerCase()} has no journal; write one of ${KINDS.join(', ').toLowerCase()}`);
}
