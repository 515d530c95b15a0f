import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BadJournal, type JournalText, type ReplayDifference, readJournal, replayJournal } from '@mcm/core';
import { errorText } from '@mcm/kube';
import type { Telling } from '../cluster/answers.ts';
import { UserError } from '../command/errors.ts';
import { PLAN_EXIT } from '../command/exit-codes.ts';
import { version } from '../command/version.ts';
import { formatted, type OutputFormat } from '../output/format.ts';

export interface ReplayFlags {
  readonly output: OutputFormat;
  readonly all?: true;
}

/** Matches the file names of journals in a bundle. */
const JOURNAL_FILE = /^journal-.*\.ndjson$/;
/** The maximum size of a file. The text of a larger file would exceed the limit for strings in JavaScript. */
const MOST_BYTES = 500_000_000;
const LONGEST_VALUE = 300;

interface DifferenceRow {
  readonly decision: string;
  readonly object: string;
  readonly namespace: string;
  readonly at: string;
  readonly because: string;
  readonly field: string;
  readonly recorded: unknown;
  readonly present: unknown;
  /** The reason why mcm cannot repeat the decision. */
  readonly problem: string;
}

interface ReplayModel {
  readonly version: string;
  readonly recordedBy: readonly string[];
  readonly decisions: number;
  readonly repeated: number;
  readonly differing: number;
  readonly differences: readonly DifferenceRow[];
  readonly problems: readonly string[];
}

export async function reportReplay(
  paths: readonly string[],
  { output, all }: ReplayFlags,
  { say, draw }: Pick<Telling, 'say' | 'draw'>,
): Promise<void> {
  process.exitCode = PLAN_EXIT.problem;
  const files = (await Promise.all(paths.map(journalFiles))).flat();
  const journals = await Promise.all(files.map(readFileOf));
  const model = modelOf(journals, all === true);
  for (const line of formatted(output, model, (result) => replayLines(result).map(draw))) say(line);
  process.exitCode = exitCodeOf(model);
}

function modelOf(journals: readonly JournalText[], all: boolean): ReplayModel {
  const records = journals.flatMap((journal) => journal.records);
  const { repeated, differences, problems } = replayJournal(records);
  return {
    version: version(),
    recordedBy: [...new Set(journals.map((journal) => journal.version))].sort(),
    decisions: records.length,
    repeated,
    differing: differences.length,
    differences: (all ? differences : differences.slice(0, 1)).map(differenceRow),
    problems: [...journals.flatMap((journal) => journal.problems), ...problems],
  };
}

const differenceRow = ({ record, difference, because }: ReplayDifference): DifferenceRow => ({
  decision: record.kind,
  object: `${record.subject.kind.toLowerCase()}/${record.subject.name}`,
  namespace: record.subject.namespace,
  at: record.at,
  because: record.because,
  field: difference?.field ?? '',
  recorded: difference?.recorded ?? null,
  present: difference?.present ?? null,
  problem: because,
});

/** Returns the exit code. If no decision was repeated, the code is not 0, because the replay has proved nothing. */
const exitCodeOf = ({ differing, problems, repeated }: ReplayModel): number => {
  if (differing > 0) return PLAN_EXIT.changes;
  return problems.length > 0 || repeated === 0 ? PLAN_EXIT.problem : PLAN_EXIT.nothing;
};

const valueText = (value: unknown): string => {
  const text = JSON.stringify(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
};

function replayLines(model: ReplayModel): string[] {
  const { version: own, recordedBy, decisions, repeated, differing, differences, problems } = model;
  const by = recordedBy.join(', ') || 'unknown';
  return [
    ...differences.flatMap((row) => [
      `${row.decision} decision about ${row.object} at ${row.at} differs${row.field === '' ? '' : ` in ${row.field}`}`,
      `  recorded reason: ${row.because}`,
      ...(row.problem === ''
        ? [
            `  recorded by mcm ${by}: ${valueText(row.recorded)}`,
            `  decided again by mcm ${own}: ${valueText(row.present)}`,
          ]
        : [`  ${row.problem}`]),
    ]),
    ...problems.map((problem) => `problem: ${problem}`),
    `${repeated} of ${decisions} decisions of mcm ${by} repeated with mcm ${own}; decisions that differ: ${differing}`,
  ];
}

async function journalFiles(path: string): Promise<readonly string[]> {
  try {
    const there = await stat(path);
    if (there.isFile()) return [path];
    if (!there.isDirectory()) throw new UserError(`${path} must be a file or a folder`);
    const names = (await readdir(path)).filter((name) => JOURNAL_FILE.test(name)).sort();
    if (names.length > 0) return names.map((name) => join(path, name));
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${path} cannot be read: ${errorText(error)}`);
  }
  throw new UserError(
    `${path} has no journal: its errors.txt contains the reason; "mcm debug bundle" writes journal-*.ndjson`,
  );
}

async function readFileOf(path: string): Promise<JournalText> {
  try {
    const { size } = await stat(path);
    if (size > MOST_BYTES) throw new BadJournal(`the file is larger than ${MOST_BYTES / 1e6} MB`);
    const bytes = await readFile(path);
    if (bytes[0] === 0x1f && bytes[1] === 0x8b)
      throw new BadJournal('the file is compressed; extract the file first: tar xzf FILE');
    return readJournal(bytes.toString('utf8').split('\n'));
  } catch (error) {
    throw new UserError(`cannot replay ${path}: ${errorText(error)}`);
  }
}
