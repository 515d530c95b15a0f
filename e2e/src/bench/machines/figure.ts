export interface Figure {
  readonly work: string;
  readonly here: string;
  readonly goal: string;
  readonly reached: boolean | undefined;
}

const figure = (value: number, unit: string, note: string): string =>
  `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ${unit}${note && ` (${note})`}`;

export const reported = (work: string, value: number, unit: string, note = ''): Figure => ({
  work,
  here: figure(value, unit, note),
  goal: 'no goal',
  reached: undefined,
});

export const atMost = (work: string, value: number, limit: number, unit: string, note = ''): Figure => ({
  work,
  here: figure(value, unit, note),
  goal: `≤ ${limit} ${unit}`,
  reached: value <= limit,
});

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
