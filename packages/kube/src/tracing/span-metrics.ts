import type { Meters } from '../metrics/meters.ts';
import type { SpanExporter } from './exporter.ts';

/** Tells how many spans were sent and lost. */
export function registerSpanMetrics(meters: Meters, exporter: Pick<SpanExporter, 'dropped' | 'sent'>): void {
  meters.observed(
    {
      name: 'trace_spans',
      help: 'While traces are sent: spans since the start of the process, by what became of them: sent to the collector, or dropped because it did not take them in time',
      labels: ['outcome'],
    },
    () => [
      { labels: { outcome: 'sent' }, value: exporter.sent },
      { labels: { outcome: 'dropped' }, value: exporter.dropped },
    ],
  );
}
