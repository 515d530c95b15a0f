function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let least = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) least = Math.min(least, (before[column - 2] ?? 0) + 1);
      current.push(least);
    }
    before = above;
    above = current;
  }
  return above[b.length] ?? 0;
}

const LONGEST = 200;

const tooMany = (length: number): number => Math.max(1, Math.floor(length / 3)) + 1;

/** Returns the known name that the user probably meant. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LONGEST) return undefined;
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let least = name.length;
  for (const candidate of known) {
    const limit = Math.min(least, tooMany(Math.max(name.length, candidate.length)));
    if (Math.abs(candidate.length - name.length) >= limit) continue;
    const changes = distance(wanted, candidate.toLowerCase());
    if (changes >= limit) continue;
    best = candidate;
    least = changes;
  }
  return best;
}
