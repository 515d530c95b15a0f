import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { colorOf, colors } from '../theme.ts';

export interface Line {
  readonly name: string;
  /** The name of a color in the style sheet. */
  readonly color: string;
  /** Fills the area below the line. */
  readonly fill?: boolean;
  readonly dashed?: boolean;
}

/** The times in milliseconds, and the values of each line. */
export type ChartData = readonly [times: readonly number[], ...lines: readonly (readonly number[])[]];

interface ChartOptions {
  /** The description of the chart, for screen readers. */
  readonly label: string;
  readonly lines: readonly Line[];
  readonly data: ChartData;
  readonly height: number;
}

const STEPS = uPlot.paths.stepped?.({ align: 1 });

function seriesOf({ name, color, fill, dashed }: Line): uPlot.Series {
  const value = colorOf(color);
  return {
    label: name,
    stroke: value,
    width: 2,
    points: { show: false },
    ...(STEPS !== undefined && { paths: STEPS }),
    ...(fill === true && { fill: `${value}33` }),
    ...(dashed === true && { dash: [6, 4] }),
  };
}

const seconds = ([times, ...lines]: ChartData): uPlot.AlignedData => [
  times.map((time) => time / 1_000),
  ...lines.map((line) => [...line]),
];

function create(box: HTMLElement, options: ChartOptions, onCursor: (index: number | undefined) => void): uPlot {
  const axis = { stroke: colorOf('quiet'), grid: { stroke: colorOf('line'), width: 1 }, ticks: { show: false } };
  const font = '12px system-ui, sans-serif';
  return new uPlot(
    {
      width: Math.max(200, box.clientWidth),
      height: options.height,
      legend: { show: false },
      cursor: { y: false, points: { size: 7 } },
      scales: { y: { range: (_, __, max) => [0, Math.max(1, max) * 1.08] } },
      axes: [
        { ...axis, font, size: 30, space: 70, ...HOURS },
        { ...axis, font, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000] },
      ],
      series: [{}, ...options.lines.map(seriesOf)],
      hooks: { setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)] },
    },
    seconds(options.data),
    box,
  );
}

const HOURS = {
  values: (_: uPlot, splits: number[], __: number, ___: number, step: number): string[] =>
    splits.map((split) => {
      const at = new Date(split * 1_000);
      const two = (value: number): string => String(value).padStart(2, '0');
      const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
      return step < 60 ? `${time}:${two(at.getSeconds())}` : time;
    }),
};

/**
 * A chart of values over time. The legend shows the values at the pointer. If no pointer is on the chart, the legend
 * shows the last values.
 */
export function Chart(options: ChartOptions) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [at, setAt] = useState<number>();
  const version = colors.value;
  const { data, lines, label, height } = options;
  const names = lines.map(({ name }) => name).join();
  useEffect(() => {
    if (box.current === null) return;
    const made = create(box.current, options, setAt);
    plot.current = made;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) made.setSize({ width: Math.max(200, entry.contentRect.width), height });
    });
    observer.observe(box.current);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [version, names, height]);
  useEffect(() => plot.current?.setData(seconds(data)), [data]);
  const index = at ?? data[0].length - 1;
  return (
    <figure class="chart">
      <figcaption class="legend">
        {lines.map(({ name, color, dashed }, line) => (
          <span key={name}>
            <span class={`swatch ${dashed ? 'dashed' : ''}`} style={{ '--swatch': `var(--${color})` }} />
            {name} <b>{data[line + 1]?.[index] ?? '–'}</b>
          </span>
        ))}
      </figcaption>
      <div class="plot" role="img" aria-label={label} ref={box} />
    </figure>
  );
}
