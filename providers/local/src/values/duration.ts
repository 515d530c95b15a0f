const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/gy;

/** Parses a duration in Go's format, from milliseconds to hours. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  let total = 0;
  let end = 0;
  for (const part of text.matchAll(PART)) {
    total += Number(part[1]) * (UNIT_MS[part[2] ?? ''] ?? 0);
    end = part.index + part[0].length;
  }
  return end > 0 && end === text.length ? total : undefined;
}
