/** Matches the start of a line: the branches of a tree and the dash of a list, in Unicode or ASCII. */
const LEAD = /^(?:[\s│├└─|]|`-)*(?:- )?/;

/**
 * Returns the text at the start of a continuation line. The text is as wide as the start of the first line, and
 * continues the vertical lines of branches.
 */
const below = (lead: string): string =>
  lead
    .replaceAll('├─', '│ ')
    .replaceAll('|-', '| ')
    .replaceAll(/[└─`-]/g, ' ');

/** Returns the width of a terminal, or undefined for a file or a pipe. */
export const columnsOf = (stream: NodeJS.WriteStream): number | undefined =>
  stream.isTTY ? stream.columns : undefined;

export const wrappedText = (text: string, columns: number | undefined): string =>
  text
    .split('\n')
    .flatMap((line) => wrapped(line, columns))
    .join('\n');

/**
 * Returns the start of a cell in a table row, so that continuation lines start below the cell. Cells are two spaces
 * apart. The result is undefined if no cell has enough room, for example in the right half of a terminal.
 */
function cellStart(line: string, lead: string, columns: number): number | undefined {
  const starts = [...line.matchAll(/(?<=\S) {2,}(?=\S)/g)].map(({ index, 0: gap }) => index + gap.length);
  return starts.findLast((start) => {
    const longest = Math.max(
      ...line
        .slice(start)
        .split(/\s+/)
        .map(({ length }) => length),
    );
    return start > lead.length && start <= columns / 2 && start + longest <= columns;
  });
}

/**
 * Splits a line between words into several lines of at most `columns` characters. The following lines have the
 * indentation of the first line's text, or of a cell if the line is a row of a table. A word that is longer than the
 * width, such as a path, gets its own line.
 * @param columns The width. If `columns` is undefined, for example for a file or a pipe, the line is not split.
 */
export function wrapped(line: string, columns: number | undefined): readonly string[] {
  if (columns === undefined || line.length <= columns) return [line];
  const [lead = ''] = LEAD.exec(line) ?? [];
  const usual = `${below(lead)}  `;
  if (usual.length > columns / 2) return [line];
  const cell = cellStart(line, lead, columns);
  const indent = cell === undefined ? usual : below(lead).padEnd(cell);
  const lines: string[] = [];
  let current = lead;
  for (const [word] of line.slice(lead.length).matchAll(/\S+\s*/g)) {
    const start = lines.length === 0 ? lead : indent;
    if (current !== start && current.length + word.trimEnd().length > columns) {
      lines.push(current.trimEnd());
      current = indent;
    }
    current += word;
  }
  return [...lines, current.trimEnd()];
}
