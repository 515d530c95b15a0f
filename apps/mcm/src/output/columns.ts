type Rows = readonly (readonly string[])[];

export const columns = (rows: Rows): string[] => growingColumns()(rows);

/** Returns a function that formats rows of a table. Each call keeps at least the column widths of the previous call. */
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
