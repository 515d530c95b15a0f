import type { Meters } from '../metrics/meters.ts';
import type { SpanExporter } from './exporter.ts';

/** Registers the metric of sent and dropped spans. */
export function registerSpanMetrics(meters: Meters, exporter: Pick<SpanExporter, 'dropped' | 'sent'>): void {
  meters.observed(
    {
      name: 'trace_spans',
      help: 'Spans since the start of the process by result: sent to the collector, or dropped. Absent without traces',
      labels: ['outcome'],
    },
    () => [
      { labels: { outcome: 'sent' }, value: exporter.sent },
      { labels: { outcome: 'dropped' }, value: exporter.dropped },
    ],
  );
}
