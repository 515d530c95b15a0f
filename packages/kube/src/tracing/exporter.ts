import { createOutageLog } from '../base/outage-log.ts';
import type { Clock, Timer } from '../clock/clock.ts';
import type { Logger } from '../contract/logger.ts';
import type { Transport } from '../contract/transport.ts';
import { otlpBody, type Resource } from './otlp.ts';
import type { Span } from './span.ts';

/** Sends spans in batches in the background. */
export interface SpanExporter {
  /** If the queue is full, the exporter drops the span. `export` never throws. */
  export(span: Span): void;
  /** Sends all pending spans when the process ends, within one second. */
  flush(): Promise<void>;
  /** Number of spans that could not be sent or did not fit into the queue. */
  readonly dropped: number;
  /** Number of spans that the collector has accepted. */
  readonly sent: number;
}

/** Options of a span exporter. */
export interface SpanExporterOptions {
  readonly transport: Transport;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Resource;
  readonly clock: Clock;
  readonly log: Logger;
}

const DELAY_MS = 5_000;
const BATCH = 512;
const MOST_WAITING = 2_048;
const TIMEOUT_MS = 1_000;

/** Creates an exporter that sends spans in OTLP as JSON. */
export function createSpanExporter(options: SpanExporterOptions): SpanExporter {
  const { transport, path, headers, resource, clock, log } = options;
  const outage = createOutageLog('export of traces', clock, log);
  let waiting: Span[] = [];
  let dropped = 0;
  let sent = 0;
  let timer: Timer | undefined;
  let sending: Promise<void> | undefined;
  let ending = false;

  const post = async (batch: readonly Span[]): Promise<boolean> => {
    const overdue = new AbortController();
    const deadline = clock.setTimeout(
      () => overdue.abort(new Error(`no response from the collector within ${TIMEOUT_MS} ms`)),
      TIMEOUT_MS,
    );
    try {
      const answer = await transport({
        method: 'POST',
        path,
        headers: { ...headers, 'content-type': 'application/json' },
        body: otlpBody(resource, batch),
        signal: overdue.signal,
      });
      await answer.text();
      if (answer.status >= 300) throw new Error(`the collector responded with status ${answer.status}`);
      outage.worked();
      sent += batch.length;
      return true;
    } catch (error) {
      dropped += batch.length;
      outage.failed(error);
      return false;
    } finally {
      deadline.cancel();
    }
  };

  const sendAll = async (): Promise<void> => {
    timer?.cancel();
    timer = undefined;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH);
      waiting = waiting.slice(BATCH);
      if ((await post(batch)) || !ending) continue;
      dropped += waiting.length;
      waiting = [];
    }
  };

  const send = (): Promise<void> => {
    sending ??= sendAll().finally(() => {
      sending = undefined;
    });
    return sending;
  };

  return {
    export(span) {
      if (waiting.length >= MOST_WAITING) {
        dropped++;
        return;
      }
      waiting.push(span);
      if (waiting.length >= BATCH) void send();
      else if (sending === undefined) timer ??= clock.setTimeout(() => void send(), DELAY_MS);
    },
    async flush() {
      ending = true;
      await send();
    },
    get dropped() {
      return dropped;
    },
    get sent() {
      return sent;
    },
  };
}
