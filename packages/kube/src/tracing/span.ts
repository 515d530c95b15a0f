import { createHash } from 'node:crypto';

/** Value of a span attribute. */
export type SpanValue = string | number | boolean;

/** A span of a trace. Times are in milliseconds since 1970. */
export interface Span {
  /** The ID of the trace: 32 hexadecimal digits, as in W3C Trace Context. */
  readonly traceId: string;
  /** The ID of the span: 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentId?: string | undefined;
  readonly name: string;
  /** The kind of the span. `internal`: work of this process. `client`: a request to another program. */
  readonly kind: 'internal' | 'client';
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  readonly events?: readonly SpanEvent[];
  /** The error of the span. After a success, `error` is absent. */
  readonly error?: string | undefined;
}

/** An event during a span. */
export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
}

/** Returns hexadecimal digits that depend only on the words. */
const derived = (digits: number, words: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, digits);

/**
 * Returns the ID of the trace of an object with a unique name. After a restart of the process, the object keeps its
 * trace ID.
 */
export const traceIdOf = (...words: readonly string[]): string => derived(32, ['trace', ...words]);

/** Returns the ID of a span from words that are unique within the trace. A span that is sent again keeps its ID. */
export const spanIdOf = (...words: readonly string[]): string => derived(16, ['span', ...words]);
