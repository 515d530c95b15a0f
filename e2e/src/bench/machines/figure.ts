/** A measured value and its goal. */
export interface Figure {
  readonly work: string;
  readonly here: string;
  readonly goal: string;
  /**
   * Whether the value reaches the goal. If the control plane causes most of the cost, the figure has no goal, and
   * `reached` is undefined.
   */
  readonly reached: boolean | undefined;
}

const figure = (value: number, unit: string, note: string): string =>
  `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ${unit}${note && ` (${note})`}`;

/** Returns a figure without a goal. */
export const reported = (work: string, value: number, unit: string, note = ''): Figure => ({
  work,
  here: figure(value, unit, note),
  goal: 'no goal',
  reached: undefined,
});

/** Returns a figure whose goal is a maximum. */
export const atMost = (work: string, value: number, limit: number, unit: string, note = ''): Figure => ({
  work,
  here: figure(value, unit, note),
  goal: `≤ ${limit} ${unit}`,
  reached: value <= limit,
});

/** Returns a percentile: the smallest value that is not lower than the given share of all values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
