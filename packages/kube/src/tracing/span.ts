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
  readonly error?: string | undefined;
}

/** An event that occurred during a span. */
export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
}

const derived = (digits: number, words: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, digits);

/** Returns the trace ID for an object, which stays equal when the process restarts. */
export const traceIdOf = (...words: readonly string[]): string => derived(32, ['trace', ...words]);

/** Returns a span ID from words that are unique in the trace. */
export const spanIdOf = (...words: readonly string[]): string => derived(16, ['span', ...words]);
