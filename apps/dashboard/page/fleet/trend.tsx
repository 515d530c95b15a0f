import { computed } from '@preact/signals';
import { LEVELS } from '../../src/wire.ts';
import { Chart, type ChartData, type Line } from '../charts/chart.tsx';
import { Card } from '../parts/marks.tsx';
import { now, trend } from '../store.ts';

/**
 * The levels with a line in the chart. The level `ready` has no line, because its large number would hide the other
 * lines.
 */
const DRAWN = LEVELS.filter((level) => level !== 'ready');
const LINES: readonly Line[] = [
  { name: 'Failed', color: 'failed', fill: true },
  { name: 'Blocked', color: 'blocked', fill: true },
  { name: 'Leaving', color: 'leaving' },
  { name: 'Starting', color: 'starting' },
];

const data = computed<ChartData>(() => {
  const samples = trend.value;
  const last = samples.at(-1);
  const all = last === undefined ? [] : [...samples, [now.value, ...last.slice(1)]];
  return [all.map(([at = 0]) => at), ...DRAWN.map((_, index) => all.map((sample) => sample[index + 1] ?? 0))];
});

/**
 * The number of machines that are not ready, over the last hours. If all machines were ready, the chart is not drawn,
 * because an empty chart hides the tiles.
 */
export function TrendChart() {
  if (!data.value.slice(1).some((line) => line.some((value) => (value ?? 0) > 0))) return null;
  return (
    <Card id="trend" title="Not ready, over time">
      <Chart label="Machines that are not ready, by state, over time" lines={LINES} data={data.value} height={150} />
    </Card>
  );
}
