import { createHash } from 'node:crypto';

/** A value that a span carries. */
export type SpanValue = string | number | boolean;

/** A span that has ended. Times are milliseconds since the epoch. */
export interface Span {
  /** 32 hexadecimal digits, as W3C Trace Context has them. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentId?: string;
  readonly name: string;
  /** `internal`: work of this process; `client`: it asked somebody else. */
  readonly kind: 'internal' | 'client';
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  readonly events?: readonly SpanEvent[];
  /** What went wrong; absent when nothing did. */
  readonly error?: string;
}

/** Something that happened during a span. */
export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
}

/** Hexadecimal digits that are the same for the same words in every process. */
const derived = (digits: number, words: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, digits);

/** The trace of something that has a name of its own for as long as it lives: who starts again continues with the same trace. */
export const traceIdOf = (...words: readonly string[]): string => derived(32, ['trace', ...words]);

/** A span's id from what makes it the only one of its trace: told twice, it is the same span. */
export const spanIdOf = (...words: readonly string[]): string => derived(16, ['span', ...words]);
