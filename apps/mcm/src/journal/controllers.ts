import { join, resolve } from 'node:path';
import { BadJournal, JOURNAL_PATH, type JournalText, readJournal } from '@mcm/core';
import { errorText, realClock, undiciTransport } from '@mcm/kube';
import { type ClusterFlags, findKubeconfigs } from '../cluster/cluster.ts';
import { UserError } from '../command/errors.ts';
import { inspectDataDir } from '../instance/data-dir.ts';

export type ControllerFlags = ClusterFlags & { readonly controller?: readonly string[] };

/** The default addresses of both controllers. */
const DEFAULTS: readonly string[] = ['http://127.0.0.1:10258', 'http://127.0.0.1:10259'];

/** The maximum time for a response, so that a controller that does not respond does not block the command. */
const TIME_MS = 30_000;

interface FetchedJournal {
  readonly lines: readonly string[];
  readonly journal: JournalText;
}

export interface FetchedJournals {
  readonly found: readonly FetchedJournal[];
  readonly problems: readonly string[];
}

export type Fetch = (url: URL) => Promise<{ readonly status: number; readonly text: string }>;

const fetchFrom: Fetch = async (url) => {
  const transport = undiciTransport({ server: url.origin });
  const abort = new AbortController();
  const timer = realClock.setTimeout(() => abort.abort(new Error(`no response within ${TIME_MS / 1_000} s`)), TIME_MS);
  try {
    const answer = await transport({
      method: 'GET',
      path: `${url.pathname}${url.search}`,
      headers: {},
      signal: abort.signal,
    });
    return { status: answer.status, text: await answer.text() };
  } finally {
    timer.cancel();
    await transport.close();
  }
};

/**
 * Returns the addresses of the controllers: from the flag, from the local instance, or the defaults.
 * @throws UserError if an address is invalid
 */
export function controllerUrls(flags: ControllerFlags): readonly URL[] {
  const given = flags.controller ?? localControllers(flags) ?? DEFAULTS;
  return given.map((text) => {
    const url = URL.parse(text);
    if (url === null || !['http:', 'https:'].includes(url.protocol))
      throw new UserError(`--controller ${text} must be a URL such as ${DEFAULTS[0] ?? ''}`);
    return url;
  });
}

/** Returns the addresses in the local instance. */
function localControllers(flags: ClusterFlags): readonly string[] | undefined {
  const found = inspectDataDir(flags.dataDir);
  if (!found?.running) return undefined;
  const own = resolve(join(flags.dataDir, 'kubeconfig'));
  return findKubeconfigs(flags).every((file) => resolve(file) === own) ? found.state.controllers : undefined;
}

/** Reads the journals of all controllers. */
export async function fetchJournals(
  urls: readonly URL[],
  query: Readonly<Record<string, string | undefined>> = {},
  fetch: Fetch = fetchFrom,
): Promise<FetchedJournals> {
  const found: FetchedJournal[] = [];
  const problems: string[] = [];
  for (const base of urls) {
    const url = new URL(JOURNAL_PATH, base);
    for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
    try {
      const { status, text } = await fetch(url);
      const lines = text.split('\n');
      if (status === 200) found.push({ lines, journal: readJournal(lines) });
      else problems.push(refusal(base, status, text));
    } catch (error) {
      if (error instanceof BadJournal) problems.push(`the response of ${base.origin} is invalid: ${error.message}`);
      else problems.push(`no controller responds at ${base.origin}: ${errorText(error)}`);
    }
  }
  return { found, problems };
}

function refusal({ origin }: URL, status: number, text: string): string {
  if (status === 404)
    return `the program at ${origin} has no journal: the program is not the leader, or is an older version of mcm`;
  return `the program at ${origin} responds with status ${status}: ${text.slice(0, 200).trim()}`;
}

export const REACH_HINT =
  'start the local instance with "mcm up", or forward the ports: kubectl port-forward -n NAMESPACE deploy/machine-controller-manager 10258 10259';
