import type { Clock, Logger, Meters, SpanExporter, TracingOff, TracingSettings } from '@mcm/kube';
import type { LifeTracer } from './life.ts';
import type { RolloutSources } from './rollout.ts';

/** The parts of the process that traces need. */
export interface TracesContext {
  readonly name: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
}

/** Traces that are enabled. */
export interface Traces {
  readonly exporter: SpanExporter;
  lives(): LifeTracer;
  rollouts(sources: RolloutSources): void;
}

/** The code for traces is loaded only if they are enabled. The connection is opened with the first span. */
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
