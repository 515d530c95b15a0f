import { Annotations } from '@mcm/api';
import type { EventRecorder } from '@mcm/kube';
import { traceIdOfObject } from './ids.ts';

/** Adds the trace ID to Events, so that a viewer can open the trace of the object. */
export function withTraceIds(recorder: EventRecorder): EventRecorder {
  return {
    event: (object, type, reason, message, options) => {
      const id = traceIdOfObject(object);
      const annotations = id === undefined ? undefined : { [Annotations.TraceId]: id };
      recorder.event(object, type, reason, message, { once: options?.once, annotations });
    },
    flush: () => recorder.flush(),
  };
}
