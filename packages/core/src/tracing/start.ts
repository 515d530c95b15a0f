import { createSpanExporter, registerSpanMetrics, type TracingSettings, undiciTransport } from '@mcm/kube';
import { traceIdOfObject } from './ids.ts';
import { createLifeTracer } from './life.ts';
import type { Traces, TracesContext } from './open.ts';
import { traceRollouts } from './rollout.ts';
import { withTraceIds } from './traced-events.ts';

export function startTraces(settings: TracingSettings, { name, version, clock, log, meters }: TracesContext): Traces {
  const { server, path, headers, serviceName, attributes } = settings;
  const transport = undiciTransport({ server, connections: 1 });
  const resource = { name: serviceName ?? name, version, attributes };
  const exporter = createSpanExporter({ transport, path, headers, resource, clock, log });
  registerSpanMetrics(meters, exporter);
  // The path of the server's URL may contain a key, so the log contains only the origin.
  log.info('Sending traces to a collector', { server });
  return {
    exporter,
    lives: () => createLifeTracer(exporter, clock),
    rollouts: (sources) => traceRollouts(exporter, clock, sources),
    idOf: traceIdOfObject,
    events: withTraceIds,
  };
}
