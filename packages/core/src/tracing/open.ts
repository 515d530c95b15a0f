import type { Clock, Logger, Meters, SpanExporter, TracingOff, TracingSettings } from '@mcm/kube';
import type { LifeTracer } from './life.ts';
import type { RolloutSources } from './rollout.ts';

/** The parts of a process that traces need. */
export interface TracesContext {
  readonly name: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
}

/** Active traces. */
export interface Traces {
  readonly exporter: SpanExporter;
  /** Spans of machines' lives. */
  lives(): LifeTracer;
  /** Sends spans of rollouts from now on. */
  rollouts(sources: RolloutSources): void;
}

/** Starts traces if they are enabled. Their code is loaded only then, and connects with the first span. */
export async function openTraces(
  settings: TracingSettings | TracingOff,
  context: TracesContext,
): Promise<Traces | undefined> {
  if ('off' in settings) {
    if (settings.because !== undefined) context.log.warn(`Traces are disabled: ${settings.because}`);
    return undefined;
  }
  const { startTraces } = await import('./start.ts');
  return startTraces(settings, context);
}
