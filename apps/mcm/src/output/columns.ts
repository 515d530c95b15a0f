type Rows = readonly (readonly string[])[];

/** Formats rows as aligned columns, two spaces apart. */
export const columns = (rows: Rows): string[] => growingColumns()(rows);

/**
 * Returns a function that formats the next rows of a table. As in kubectl, later rows keep the column widths of earlier
 * rows.
 */
export function growingColumns(): (rows: Rows) => string[] {
  let widths: readonly number[] = [];
  return (rows) => {
    widths = (rows[0] ?? []).map((_, column) =>
      rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), widths[column] ?? 0),
    );
    return aligned(rows, widths);
  };
}

function aligned(rows: Rows, widths: readonly number[]): string[] {
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
