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
  /** Returns the ID of the trace of a Machine, MachineDeployment or MachineSet. */
  idOf(object: KubeObject): string | undefined;
  /** Returns a recorder whose Events contain the ID of the trace. */
  events(recorder: EventRecorder): EventRecorder;
}

/**
 * The code for traces is loaded only if they are enabled. The connection of the exporter is opened with the first span.
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
