import { createHash } from 'node:crypto';

/** Value of a span attribute. */
export type SpanValue = string | number | boolean;

/** A span of a trace, with times in milliseconds since 1970. */
export interface Span {
  /** 32 hexadecimal digits, as in W3C Trace Context. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentId?: string | undefined;
  readonly name: string;
  /** `internal` means work of this process, and `client` means a request to another program. */
  readonly kind: 'internal' | 'client';
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  readonly events?: readonly SpanEvent[];
  /** The text of the error. After a success, the field is absent. */
  readonly error?: string | undefined;
}

/** An event that occurred during a span. */
export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
}

/** Returns hexadecimal digits that depend only on `words`. */
const derived = (digits: number, words: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, digits);

/**
 * Returns the trace ID for an object. `words` identify the object. The trace ID does not change when the process
 * restarts.
 */
export const traceIdOf = (...words: readonly string[]): string => derived(32, ['trace', ...words]);

/** Returns a span ID from words that are unique in the trace. A span that is sent twice keeps its ID. */
export const spanIdOf = (...words: readonly string[]): string => derived(16, ['span', ...words]);
