import type { Clock, Logger, Meters, SpanExporter, TracingOff, TracingSettings } from '@mcm/kube';
import type { LifeTracer } from './life.ts';
import type { RolloutSources } from './rollout.ts';

/** What traces need of a process. */
export interface TracesContext {
  readonly name: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
}

/** Traces that are sent. */
export interface Traces {
  readonly exporter: SpanExporter;
  /** Spans of machines' lives. */
  lives(): LifeTracer;
  /** Sends spans of rollouts from now on. */
  rollouts(sources: RolloutSources): void;
}

/** Opens traces if they are asked for; the code that makes them is loaded only then. Nothing is connected before there is a span. */
export async function openTraces(
  settings: TracingSettings | TracingOff,
  context: TracesContext,
): Promise<Traces | undefined> {
  if ('off' in settings) {
    if (settings.because !== undefined) context.log.warn(`Traces are off: ${settings.because}`);
    return undefined;
  }
  const { startTraces } = await import('./start.ts');
  return startTraces(settings, context);
}
