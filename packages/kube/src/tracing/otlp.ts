import type { Span, SpanValue } from './span.ts';

/** The process that creates the spans. */
export interface Resource {
  readonly name: string;
  readonly version: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The numbers of `SpanKind` and `StatusCode` in opentelemetry-proto. */
const KINDS: Readonly<Record<Span['kind'], number>> = { internal: 1, client: 3 };
const ERROR = 2;

function anyValue(value: SpanValue): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

const attributesOf = (attributes: Readonly<Record<string, SpanValue>>): object[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));

/** Returns nanoseconds as a string, because the number is too large for JSON parsers. */
const nanos = (ms: number): string => String(BigInt(Math.round(ms * 1_000)) * 1_000n);

const spanOf = (span: Span): object => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentId,
  name: span.name,
  kind: KINDS[span.kind],
  startTimeUnixNano: nanos(span.startMs),
  endTimeUnixNano: nanos(span.endMs),
  attributes: attributesOf(span.attributes),
  events: (span.events ?? []).map(({ name, atMs, attributes }) => ({
    name,
    timeUnixNano: nanos(atMs),
    attributes: attributesOf(attributes),
  })),
  status: span.error === undefined ? {} : { code: ERROR, message: span.error },
});

/** Returns the JSON body of an OTLP/HTTP request (`ExportTraceServiceRequest`). */
export const otlpBody = ({ name, version, attributes }: Resource, spans: readonly Span[]): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf({ ...attributes, 'service.name': name, 'service.version': version }) },
        scopeSpans: [{ scope: { name: 'mcm', version }, spans: spans.map(spanOf) }],
      },
    ],
  });
