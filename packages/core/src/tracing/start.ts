import {
  type Clock,
  createSpanExporter,
  type Logger,
  type SpanExporter,
  type TracingSettings,
  type Transport,
} from '@mcm/kube';
import { createLifeTracer, type LifeTracer } from './life.ts';

/** What traces need of a process. */
export interface TracingContext {
  readonly name: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** To a collector. */
  readonly connect: (server: string) => Transport;
}

/** Traces that are sent. */
export interface Tracing extends LifeTracer {
  readonly exporter: SpanExporter;
}

/** Sends traces where the settings say. Nothing is connected before there is a span. */
export function startTracing(
  settings: TracingSettings,
  { name, version, clock, log, connect }: TracingContext,
): Tracing {
  const { server, path, headers, serviceName, attributes } = settings;
  const transport = connect(server);
  const resource = { name: serviceName ?? name, version, attributes };
  const exporter = createSpanExporter({ transport, path, headers, resource, clock, log });
  // The path may hold a key.
  log.info('Traces of machines are sent to a collector', { server });
  return { ...createLifeTracer(exporter, clock), exporter };
}
