import { Labels, type Machine } from '@mcm/api';
import { type Change, type Clock, type Span, type SpanExporter, type SpanValue, spanIdOf, traceIdOf } from '@mcm/kube';
import type { DrainObservation } from '../drain/model/observation.ts';
import type { DriverTracer } from '../driver/invoker/api/tracing.ts';
import type { Stage, StageObserver } from '../metrics/machine.ts';
import { machineTraceId } from './ids.ts';
import { failureIn } from './machine-change.ts';
import { PodSpans } from './pod-spans.ts';

/**
 * The attribute with the UID of the machine. With this attribute, the tracer adds a driver call to the trace of its
 * machine.
 */
const MACHINE_UID = 'machine.uid';

/** Records one trace for each machine, from its creation to its deletion. */
export interface LifeTracer {
  readonly driver: DriverTracer;
  readonly idOf: (uid: string) => string;
  readonly stage: StageObserver;
  readonly drain: (machine: Machine, drain: DrainObservation | undefined) => void;
  readonly changed: (change: Change<Machine>) => void;
}

/**
 * The IDs of spans are computed from the UID of the machine, so another process continues the trace. mcm sends the root
 * span when the machine is deleted.
 */
const traceOf = machineTraceId;
const rootOf = (uid: string): string => spanIdOf('machine', uid);

function attributesOf({ metadata, spec }: Machine): Record<string, SpanValue> {
  const known = {
    'k8s.namespace.name': metadata.namespace,
    'machine.name': metadata.name,
    [MACHINE_UID]: metadata.uid,
    'machine.class': spec.class.name,
    'machine.provider_id': spec.providerID,
    'machine.deployment': metadata.labels?.name,
    'k8s.node.name': metadata.labels?.[Labels.Node],
  };
  return Object.fromEntries(Object.entries(known).filter((entry): entry is [string, string] => Boolean(entry[1])));
}

export function createLifeTracer(exporter: SpanExporter, clock: Clock): LifeTracer {
  const now = (): number => clock.now().getTime();
  const within = (machine: Machine, name: string, startMs: number, error?: string): Span => {
    const { uid } = machine.metadata;
    return {
      traceId: traceOf(uid),
      spanId: spanIdOf(uid, name, String(startMs)),
      parentId: rootOf(uid),
      name,
      kind: 'internal',
      startMs,
      endMs: now(),
      attributes: attributesOf(machine),
      error,
    };
  };
  const pods = new PodSpans();
  return {
    driver: driverTracer(exporter, now),
    idOf: traceOf,
    stage: (stage: Stage, machine, ms) => exporter.export(within(machine, stage, now() - ms)),
    drain(machine, drain) {
      const { uid } = machine.metadata;
      for (const { attributes, ...span } of pods.observe(machine, drain, clock.now())) {
        exporter.export({
          ...span,
          traceId: traceOf(uid),
          parentId: rootOf(uid),
          kind: 'internal',
          attributes: Object.assign(attributesOf(machine), attributes),
        });
      }
    },
    changed(change) {
      const { object } = change;
      const { uid, name, creationTimestamp } = object.metadata;
      const failure = failureIn(change);
      if (failure !== undefined) exporter.export(within(object, 'failed', now(), failure));
      if (change.type !== 'deleted') return;
      pods.forget(uid);
      exporter.export({
        traceId: traceOf(uid),
        spanId: rootOf(uid),
        name: `machine ${name}`,
        kind: 'internal',
        startMs: Date.parse(creationTimestamp),
        endMs: now(),
        attributes: attributesOf(object),
      });
    },
  };
}

/**
 * Creates spans for driver calls. The span of a driver call is a child of the root span of its machine. A driver call
 * without a machine, such as `list`, has its own trace.
 */
function driverTracer(exporter: SpanExporter, now: () => number): DriverTracer {
  let calls = 0;
  return {
    startSpan(name, options = {}) {
      const startMs = now();
      const attributes: Record<string, SpanValue> = { ...options.attributes };
      const events: { name: string; atMs: number; attributes: Record<string, SpanValue> }[] = [];
      let error: string | undefined;
      const uid = String(attributes[MACHINE_UID] ?? '');
      const own = [name, String(startMs), String(calls++)];
      return {
        setAttributes: (more) => Object.assign(attributes, more),
        addEvent: (event, more = {}) => events.push({ name: event, atMs: now(), attributes: more }),
        setStatus: ({ code, message }) => {
          if (code === 2) error = message ?? '';
        },
        end: () =>
          exporter.export({
            traceId: uid === '' ? traceIdOf(...own) : traceOf(uid),
            spanId: spanIdOf(uid, ...own),
            parentId: uid === '' ? undefined : rootOf(uid),
            name,
            kind: 'client',
            startMs,
            endMs: now(),
            attributes,
            events,
            error,
          }),
      };
    },
  };
}
