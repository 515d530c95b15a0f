import type {
  Clock,
  EventRecorder,
  KubeObject,
  Logger,
  Meters,
  SpanExporter,
  TracingOff,
  TracingSettings,
} from '@mcm/kube';
import type { LifeTracer } from './life.ts';
import type { RolloutSources } from './rollout.ts';

/** The logger, the settings and other parts of the process that tracing needs. */
export interface TracesContext {
  readonly name: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
}

/** The functions for tracing, in a process with enabled tracing. */
export interface Traces {
  readonly exporter: SpanExporter;
  lives(): LifeTracer;
  rollouts(sources: RolloutSources): void;
  idOf(object: KubeObject): string | undefined;
  events(recorder: EventRecorder): EventRecorder;
}

/**
 * Starts tracing if it is enabled. The code for tracing is loaded only if tracing is enabled. The exporter connects to
 * the server when it sends the first span.
 */
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
