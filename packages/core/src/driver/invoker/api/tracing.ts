import type { MachineError } from '../../contract/errors.ts';

/** The methods of OpenTelemetry's `Span` that this package calls. */
export interface DriverSpan {
  setAttributes(attributes: Record<string, string | number | boolean>): unknown;
  addEvent(name: string, attributes?: Record<string, string | number | boolean>): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  end(): void;
}

/** The methods of OpenTelemetry's `Tracer` that this package calls. */
export interface DriverTracer {
  startSpan(
    name: string,
    options?: { kind?: number; attributes?: Record<string, string | number | boolean> },
  ): DriverSpan;
}

/** The values of OpenTelemetry's `SpanKind.CLIENT` and `SpanStatusCode.ERROR`. */
const CLIENT = 2;
const ERROR = 2;

const REGISTERED = Symbol.for('opentelemetry.js.api.1');

interface TracerProvider {
  getTracer(name: string): DriverTracer;
}

const isProvider = (value: unknown): value is TracerProvider =>
  typeof value === 'object' && value !== null && 'getTracer' in value && typeof value.getTracer === 'function';

/**
 * Returns the tracer of an OpenTelemetry SDK that is loaded into the process (`node --import ./telemetry.mjs`). mcm
 * needs no dependency on OpenTelemetry packages, because it uses a tracer that is loaded into the process.
 */
export function registeredTracer(registry: object = globalThis): DriverTracer | undefined {
  const registered: unknown = Reflect.get(registry, REGISTERED);
  const provider: unknown =
    typeof registered === 'object' && registered !== null && 'trace' in registered ? registered.trace : undefined;
  return isProvider(provider) ? provider.getTracer('machine-controller') : undefined;
}

export interface CallSpan {
  request(service: string, ms: number, failed: boolean): void;
  end(error: MachineError | undefined): void;
}

const NONE: CallSpan = { request: () => undefined, end: () => undefined };

export function startCall(
  tracer: DriverTracer | undefined,
  operation: string,
  attributes: Record<string, string | number | boolean>,
): CallSpan {
  if (!tracer) return NONE;
  const span = tracer.startSpan(`driver ${operation}`, { kind: CLIENT, attributes });
  return {
    request: (service, ms, failed) => {
      span.addEvent(service, { 'duration.ms': ms, failed });
    },
    end: (error) => {
      if (error) {
        span.setAttributes({ 'machine.error_code': error.code });
        span.setStatus({ code: ERROR, message: error.message });
      }
      span.end();
    },
  };
}
