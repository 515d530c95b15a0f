import { type Clock, type Logger, sleep } from '@mcm/kube';
import type { Context } from 'hono';
import { CloudError } from '../context/errors.ts';
import type { FaultDecision, FaultSubject, Faults } from '../context/faults.ts';
import type { RequestLog } from '../context/request-log.ts';

/** The response to a request. A response with the status 204 has no body. */
export interface Answer {
  readonly status: number;
  readonly body?: object;
}

export interface WorkContext {
  /** The age of the data that read requests return, in milliseconds. */
  readonly staleMs: number;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface Prepared {
  readonly subject?: FaultSubject;
  readonly instance?: string;
  work(context: WorkContext): Answer | Promise<Answer>;
}

export interface OperationOptions {
  readonly clock: Clock;
  readonly faults: Faults;
  readonly requests: RequestLog;
  readonly apiLatencyMs: number;
  readonly log: Logger;
}

export type RunOperation = (
  context: Context,
  operation: string,
  prepare: () => Prepared | Promise<Prepared>,
) => Promise<Response>;

/**
 * Runs an operation of the cloud API. The runner reads the input, applies faults and delays, calls the handler,
 * converts errors, and logs the request.
 */
export function operationRunner(options: OperationOptions): RunOperation {
  return async (context, operation, prepare) => {
    const { clock, requests } = options;
    const started = clock.now();
    const { signal } = context.req.raw;
    let instance: string | undefined;
    let answer: Answer;
    let error: CloudError | undefined;
    try {
      const prepared = await prepare();
      instance = prepared.instance ?? prepared.subject?.name;
      answer = await perform(options, operation, prepared, signal);
    } catch (thrown) {
      error = toCloudError(thrown, options.log);
      answer = { status: error.status, body: errorBody(error) };
    }
    requests.add({
      time: started.toISOString(),
      operation,
      instance,
      code: signal.aborted ? 0 : answer.status,
      error: error?.code,
      userAgent: context.req.header('user-agent') ?? '',
      ms: clock.now().getTime() - started.getTime(),
    });
    return toResponse(answer, error);
  };
}

async function perform(
  options: OperationOptions,
  operation: string,
  prepared: Prepared,
  signal: AbortSignal,
): Promise<Answer> {
  const decision = options.faults.decide(operation, prepared.subject);
  const latencyMs = options.apiLatencyMs + decision.latencyMs;
  if (latencyMs > 0) await pause(options.clock, latencyMs, signal);
  const work = (): Answer | Promise<Answer> => prepared.work({ staleMs: decision.staleMs, signal });
  if (decision.error === undefined && decision.timeoutMs === undefined) return work();
  if (decision.effect) await work();
  return fail(options.clock, decision, signal);
}

async function fail(clock: Clock, decision: FaultDecision, signal: AbortSignal): Promise<never> {
  if (decision.timeoutMs !== undefined) {
    await pause(clock, decision.timeoutMs, signal);
    throw new CloudError('RequestTimeout', 'The request to the local cloud took too long.');
  }
  const { code = 'InternalError', message = '', status = 500, retryAfterSeconds } = decision.error ?? {};
  throw new CloudError(code, message, { status, retryAfterSeconds });
}

/** Delays an operation. If the client disconnects, the delay ends early, and the cloud still performs the operation. */
async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(clock, ms, signal);
  } catch (reason) {
    if (!signal.aborted) throw reason;
  }
}

/** Converts an unexpected error, which is a bug of the emulator. */
export function toCloudError(thrown: unknown, log: Logger): CloudError {
  if (thrown instanceof CloudError) return thrown;
  log.error('A request failed with an unexpected error', {
    error: thrown instanceof Error ? thrown.stack : String(thrown),
  });
  return new CloudError('InternalError', 'The local cloud failed to answer the request.');
}

export const errorBody = (error: CloudError): object => ({ error: { code: error.code, message: error.message } });

function toResponse(answer: Answer, error: CloudError | undefined): Response {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (error?.retryAfterSeconds !== undefined) headers['retry-after'] = String(error.retryAfterSeconds);
  if (answer.body === undefined) return new Response(null, { status: answer.status });
  return new Response(JSON.stringify(answer.body), { status: answer.status, headers });
}
