import { BadRecord, type JournalText, plainJson, type RecordedDecision } from '@mcm/core';
import { isInScope, type ObjectScope } from '../events/scope.ts';
import { age } from '../output/age.ts';
import { columns } from '../output/columns.ts';

export interface JournalRow {
  readonly at: string;
  readonly firstAt: string;
  readonly count: number;
  readonly controller: string;
  readonly decision: string;
  readonly object: string;
  readonly namespace: string;
  readonly actions: readonly string[];
  readonly because: string;
  readonly outcome: string;
  readonly result: unknown;
  readonly observation: unknown;
}

export interface JournalScope {
  readonly namespace: string | undefined;
  readonly object?: { readonly kind: string; readonly name: string } | undefined;
  readonly selected?: ObjectScope | undefined;
}

const RELATED: Readonly<Record<string, readonly string[]>> = { Machine: ['Machine', 'VM', 'Node'] };

function isWanted({ subject }: RecordedDecision, { namespace, object, selected }: JournalScope): boolean {
  // A Node has no namespace, so a decision about a Node belongs to every namespace.
  if (namespace !== undefined && subject.namespace !== '' && subject.namespace !== namespace) return false;
  if (selected !== undefined && !isInScope(subject, selected)) return false;
  return (
    object === undefined ||
    (subject.name === object.name && (RELATED[object.kind] ?? [object.kind]).includes(subject.kind))
  );
}

/** Returns the decisions in all journals, the oldest first. */
export function journalRows(
  journals: readonly JournalText[],
  scope: JournalScope = { namespace: undefined },
): JournalRow[] {
  return journals
    .flatMap(({ controller, records }) =>
      records.filter((record) => isWanted(record, scope)).map((record) => rowOf(controller, record)),
    )
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

const rowOf = (controller: string, record: RecordedDecision): JournalRow => ({
  at: record.at,
  firstAt: record.firstAt,
  count: record.count,
  controller,
  decision: record.kind,
  object: `${record.subject.kind.toLowerCase()}/${record.subject.name}`,
  namespace: record.subject.namespace,
  actions: record.actions,
  because: record.because,
  outcome: record.outcome,
  result: record.decision,
  observation: observationOf(record),
});

function observationOf(record: RecordedDecision): unknown {
  try {
    return plainJson(record.input());
  } catch (error) {
    if (error instanceof BadRecord) return `cannot be read: ${error.message}`;
    throw error;
  }
}

interface JournalTable {
  readonly wide: boolean;
  readonly namespace: string | undefined;
  readonly align?: typeof columns;
}

export function journalLines(
  rows: readonly JournalRow[],
  now: Date,
  { wide, namespace, align = columns }: JournalTable,
): string[] {
  const place = namespace === undefined ? '' : ` about namespace ${namespace}`;
  if (rows.length === 0) return [`no decisions${place} in the memory of the controllers`];
  const isOfAll = namespace === undefined;
  const head = [
    ...(isOfAll ? ['NAMESPACE'] : []),
    'LAST SEEN',
    'COUNT',
    'OBJECT',
    ...(wide ? ['FIRST SEEN', 'CONTROLLER'] : []),
    'ACTIONS',
    'REASON',
  ];
  const since = (time: string): string => age(now.getTime() - Date.parse(time));
  const cells = rows.map((row) => [
    ...(isOfAll ? [row.namespace] : []),
    since(row.at),
    String(row.count),
    row.object,
    ...(wide ? [since(row.firstAt), row.controller] : []),
    actionsOf(row),
    row.because,
  ]);
  return align([head, ...cells]);
}

function actionsOf({ actions, outcome }: JournalRow): string {
  if (actions.length === 0) return '-';
  return outcome === 'done' ? actions.join(', ') : `${actions.join(', ')} (${outcome})`;
}
