import { type Clock, loadKubeconfig, pause, realClock } from '@mcm/kube';
import { type Telling, tell } from '../cluster/answers.ts';
import { type ClusterFlags, findKubeconfigs, inCluster } from '../cluster/cluster.ts';
import { type AskFlags, reference } from '../cluster/cluster-options.ts';
import { unlessAborted } from '../cluster/follow.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { readSelected } from '../events/scope.ts';
import { growingColumns } from '../output/columns.ts';
import { eachFormatted } from '../output/format.ts';
import {
  type ControllerFlags,
  controllerUrls,
  type Fetch,
  type FetchedJournals,
  fetchJournals,
  REACH_HINT,
} from './controllers.ts';
import { type JournalRow, type JournalScope, journalLines, journalRows } from './rows.ts';

export type JournalFlags = AskFlags &
  ControllerFlags & {
    readonly limit?: string;
    readonly allNamespaces?: true;
    readonly selector?: string;
    readonly watch?: true;
  };

const KINDS: readonly string[] = ['Machine', 'MachineSet', 'MachineDeployment', 'Node'];
/** The interval between the requests of --watch, and the maximum number of records in each response. */
const WATCH = { gapMs: 2_000, limit: '500' };

/** Runs the command `mcm journal`. */
export async function reportJournal(
  text: string | undefined,
  flags: JournalFlags,
  telling: Telling & Pick<CommandEnvironment, 'signal'>,
  fetch?: Fetch,
  clock: Clock = realClock,
): Promise<void> {
  const object = text === undefined ? undefined : objectOf(text);
  const { limit, output } = flags;
  if (limit !== undefined && !/^[1-9]\d*$/.test(limit))
    throw new UserError(`--limit ${limit} must be a number of decisions, such as 20`);
  const urls = controllerUrls(flags);
  const namespace = await namespaceOf(flags);
  const scope: JournalScope = { namespace, object, selected: await selectedBy(flags, telling) };
  const fetched = await fetchJournals(urls, { name: object?.name }, fetch);
  if (fetched.found.length === 0) throw new UserError(`${fetched.problems.join('; ')}; ${REACH_HINT}`);
  const problems = problemsOf(fetched);
  for (const problem of problems) telling.warn(`mcm: ${problem}`);
  const all = rowsOf(fetched, scope);
  const model = limit === undefined ? all : all.slice(-Number(limit));
  const now = clock.now();
  const align = growingColumns();
  const lines = (rows: readonly JournalRow[], wide: boolean) => journalLines(rows, now, { wide, namespace, align });
  tell(telling, output, { model, unread: new Set() }, lines);
  if (!flags.watch) return;
  const again = () => fetchJournals(urls, { name: object?.name, limit: WATCH.limit }, fetch);
  await follow({ again, known: all, problems, scope, output, align, clock }, telling);
}

interface Follow extends Pick<JournalFlags, 'output'> {
  readonly again: () => Promise<FetchedJournals>;
  readonly known: readonly JournalRow[];
  readonly problems: readonly string[];
  readonly scope: JournalScope;
  readonly align: ReturnType<typeof growingColumns>;
  readonly clock: Clock;
}

async function follow(
  { again, known, problems, scope, output, align, clock }: Follow,
  { say, draw, warn, signal }: Telling & Pick<CommandEnvironment, 'signal'>,
): Promise<void> {
  const until = signal();
  const seen = new Set(known.map(seenKey));
  let warned = problems;
  while (!until.aborted) {
    await pause(clock, WATCH.gapMs, until);
    if (until.aborted) break;
    const fetched = await unlessAborted(again(), until);
    const now = problemsOf(fetched);
    for (const problem of now) if (!warned.includes(problem)) warn(`mcm: ${problem}`);
    warned = now;
    for (const row of rowsOf(fetched, scope)) {
      if (seen.has(seenKey(row))) continue;
      seen.add(seenKey(row));
      const line =
        journalLines([row], clock.now(), { wide: output === 'wide', namespace: scope.namespace, align }).at(-1) ?? '';
      for (const one of eachFormatted(output, row, line)) say(draw(one));
    }
  }
  until.throwIfAborted();
}

/** Returns a key that changes when the controller repeats the decision, or when the actions of the decision end. */
const seenKey = ({ controller, namespace, object, decision, at, because, outcome }: JournalRow): string =>
  JSON.stringify([controller, namespace, object, decision, at, because, outcome]);

const rowsOf = ({ found }: FetchedJournals, scope: JournalScope): JournalRow[] =>
  journalRows(
    found.map(({ journal }) => journal),
    scope,
  );

const problemsOf = ({ found, problems }: FetchedJournals): readonly string[] => [
  ...problems,
  ...found.flatMap(({ journal }) => journal.problems),
];

/**
 * Returns the namespace in the flags or in the context. Without a kubeconfig, the namespace is undefined, because only
 * addresses of controllers are necessary.
 */
async function namespaceOf(flags: JournalFlags): Promise<string | undefined> {
  if (flags.allNamespaces) return undefined;
  if (flags.namespace !== undefined) return flags.namespace;
  const files = kubeconfigsOf(flags);
  if (files === undefined) return undefined;
  const { context } = flags;
  const { namespace } = await loadKubeconfig(files, context === undefined ? {} : { context });
  return namespace ?? 'default';
}

function kubeconfigsOf(flags: ClusterFlags): readonly string[] | undefined {
  try {
    return findKubeconfigs(flags);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

const selectedBy = async (flags: JournalFlags, { warn }: Pick<Telling, 'warn'>): Promise<JournalScope['selected']> =>
  flags.selector === undefined
    ? undefined
    : inCluster(flags, 'journal', (cluster) => readSelected(cluster, flags, warn));

function objectOf(text: string): JournalScope['object'] {
  const { kind = 'MachineDeployment', name } = reference(text);
  if (KINDS.includes(kind)) return { kind, name };
  throw new UserError(`a ${kind.toLowerCase()} has no journal; write one of ${KINDS.join(', ').toLowerCase()}`);
}
