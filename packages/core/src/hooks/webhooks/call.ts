import { createHmac } from 'node:crypto';
import { formatTime, type Machine } from '@mcm/api';
import { type Clock, errorText, type Transport, type TransportResponse } from '@mcm/kube';
import { z } from 'zod';
import type { PendingHook } from '../pending.ts';
import type { HookWebhook } from './config.ts';

export type HookAnswer =
  | { readonly is: 'finished' }
  /** The webhook has not finished its step, so mcm calls it again after `retryAfterMs`. */
  | { readonly is: 'waits'; readonly retryAfterMs: number | undefined }
  | { readonly is: 'failed'; readonly because: string };

export interface HookCallOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly keys: readonly Uint8Array[];
}

/** A response without a maximum size could fill the memory of the process. */
const LARGEST_ANSWER_BYTES = 65_536;

const answerSchema = z.object({
  done: z.boolean(),
  retryAfterSeconds: z.number().positive().optional(),
});

/** Labels, annotations and specs can contain confidential texts, so a webhook call omits them. */
function hookRequestOf(machine: Machine, { hook, since, until }: PendingHook) {
  const { namespace, name, uid } = machine.metadata;
  return {
    type: 'machine.sapcloud.io/hook',
    stage: hook.stage,
    hook: hook.name,
    since: formatTime(since),
    deadline: formatTime(until),
    afterTimeout: hook.afterTimeout,
    machine: {
      namespace,
      name,
      uid,
      class: machine.spec.class.name,
      providerID: machine.spec.providerID,
      node: machine.metadata.labels?.node,
    },
  };
}

/**
 * Returns the ID of a webhook call. All calls for one hook of a machine have an equal ID, so the webhook can recognize
 * a repeated call.
 */
const hookCallId = (machine: Machine, { hook, since }: PendingHook): string =>
  `${machine.metadata.uid}/${hook.stage}/${hook.name}/${Math.floor(since.getTime() / 1_000)}`;

/** A webhook call has a signature for each key, as the specification Standard Webhooks requires. */
function signedHeaders(
  keys: readonly Uint8Array[],
  id: string,
  at: Date,
  body: string,
): Readonly<Record<string, string>> {
  const seconds = String(Math.floor(at.getTime() / 1_000));
  const signatures = keys.map(
    (key) => `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signatures.join(' ') };
}

async function limitedText(response: TransportResponse): Promise<string> {
  if (response.body === null) return (await response.text()).slice(0, LARGEST_ANSWER_BYTES);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    // The error ends the loop, and the end of the loop closes the connection.
    if (bytes > LARGEST_ANSWER_BYTES)
      throw new Error(`the response of the webhook has more than ${LARGEST_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const failed = (because: string): HookAnswer => ({ is: 'failed', because });

/**
 * Converts the response of a webhook to an answer. Events contain the text of an error, so the text must not quote the
 * response.
 */
function answerOf(status: number, text: string): HookAnswer {
  if (status >= 300 && status < 400) return failed(`the webhook redirects (status ${status}); mcm follows no redirect`);
  if (status < 200 || status > 299) return failed(`the webhook responded with status ${status}`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return failed('the response of the webhook is not JSON; the webhook must return {"done": true} or {"done": false}');
  }
  const answer = answerSchema.safeParse(json);
  if (!answer.success)
    return failed(
      'the response of the webhook has no valid "done"; the webhook must return {"done": true} or {"done": false}',
    );
  const { done, retryAfterSeconds } = answer.data;
  if (done) return { is: 'finished' };
  return { is: 'waits', retryAfterMs: retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1_000 };
}

/** Calls a webhook. The promise rejects only if the process stops. */
export async function callHookWebhook(
  webhook: HookWebhook,
  machine: Machine,
  pending: PendingHook,
  { transport, clock, signal, keys }: HookCallOptions,
): Promise<HookAnswer> {
  const body = JSON.stringify(hookRequestOf(machine, pending));
  const late = new AbortController();
  const timer = clock.setTimeout(() => late.abort(new Error('the webhook did not respond in time')), webhook.timeoutMs);
  try {
    const response = await transport({
      method: 'POST',
      path: webhook.url.pathname + webhook.url.search,
      headers: {
        ...signedHeaders(keys, hookCallId(machine, pending), clock.now(), body),
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body,
      signal: AbortSignal.any([signal, late.signal]),
    });
    return answerOf(response.status, await limitedText(response));
  } catch (error) {
    signal.throwIfAborted();
    const timedOut: unknown = late.signal.aborted ? late.signal.reason : error;
    return failed(errorText(timedOut));
  } finally {
    timer.cancel();
  }
}
