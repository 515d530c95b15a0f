/** Matches the start of a line: branches of a tree and the dash of a list, in Unicode or ASCII. */
const LEAD = /^(?:[\s│├└─|]|`-)*(?:- )?/;

/** Returns the start of the continuation line below a line with the given start. */
const below = (lead: string): string =>
  lead
    .replaceAll('├─', '│ ')
    .replaceAll('|-', '| ')
    .replaceAll(/[└─`-]/g, ' ');

/** Returns the width of a terminal. */
export const columnsOf = (stream: NodeJS.WriteStream): number | undefined =>
  stream.isTTY ? stream.columns : undefined;

export const wrappedText = (text: string, columns: number | undefined): string =>
  text
    .split('\n')
    .flatMap((line) => wrapped(line, columns))
    .join('\n');

/** Returns the columns at which the cells of a table row start, except for the first cell. */
const cellStarts = (line: string, lead: string): readonly number[] =>
  [...line.matchAll(/(?<=\S) {2,}(?=\S)/g)]
    .map(({ index, 0: gap }) => index + gap.length)
    .filter((start) => start > lead.length);

/**
 * Returns the column at which the continuation lines of a table row start. The column is the start of one of its cells.
 */
function continuationStart(line: string, starts: readonly number[], columns: number): number | undefined {
  return starts.findLast((start) => {
    const longest = Math.max(
      ...line
        .slice(start)
        .split(/\s+/)
        .map(({ length }) => length),
    );
    return start <= columns / 2 && start + longest <= columns;
  });
}

/**
 * Splits a line between words, so that each part has at most `columns` characters. If the last cell of a table does not
 * fit, the cell starts on a new line, because the last cell is often a sentence.
 * @param columns The width of the output.
 */
export function wrapped(line: string, columns: number | undefined): readonly string[] {
  if (columns === undefined || line.length <= columns) return [line];
  const [lead = ''] = LEAD.exec(line) ?? [];
  const usual = `${below(lead)}  `;
  if (usual.length > columns / 2) return [line];
  const starts = cellStarts(line, lead);
  const cell = continuationStart(line, starts, columns);
  const indent = cell === undefined ? usual : below(lead).padEnd(cell);
  const last = starts.at(-1) === cell ? undefined : starts.at(-1);
  const lines: string[] = [];
  let current = lead;
  for (const { 0: word, index } of line.slice(lead.length).matchAll(/\S+\s*/g)) {
    const start = lines.length === 0 ? lead : indent;
    const part = lead.length + index === last ? line.slice(last) : word.trimEnd();
    if (current !== start && current.length + part.length > columns) {
      lines.push(current.trimEnd());
      current = indent;
    }
    current += word;
  }
  return [...lines, current.trimEnd()];
}
