import { createHash } from 'node:crypto';
import type { Clock, TransportRequest, TransportResponse } from '@mcm/kube';
import { pause } from '@mcm/kube';
import { jsonAnswer } from '../server/answer.ts';

interface Message {
  readonly id: string;
  readonly body: string;
  visibleFrom: number;
  receipt: string;
}

const PREFIX = 'AmazonSQS.';
const LOOK_MS = 250;

/** Returns the action of a request to SQS, such as `ReceiveMessage`. */
export function sqsAction({ headers }: TransportRequest): string | undefined {
  const target = Object.entries(headers).find(([name]) => name.toLowerCase() === 'x-amz-target')?.[1];
  return target?.startsWith(PREFIX) ? target.slice(PREFIX.length) : undefined;
}

export const sqsRefusal = (http: number, code: string, message: string): TransportResponse =>
  jsonAnswer(http, { __type: `com.amazonaws.sqs#${code}`, message });

/**
 * Emulates the SQS queue of the account. A message that no client deletes is delivered again after the visibility
 * timeout.
 */
export class Queue {
  readonly #clock: Clock;
  readonly #messages: Message[] = [];
  #next = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#messages.length;
  }

  send(body: object | string): void {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    this.#messages.push({ id: `m-${this.#next++}`, body: text, visibleFrom: 0, receipt: '' });
  }

  async answer(action: string, { body = '{}', signal }: TransportRequest): Promise<TransportResponse> {
    const input: {
      readonly QueueName?: string;
      readonly QueueUrl?: string;
      readonly WaitTimeSeconds?: number;
      readonly MaxNumberOfMessages?: number;
      readonly VisibilityTimeout?: number;
      readonly ReceiptHandle?: string;
    } = JSON.parse(body);
    switch (action) {
      case 'GetQueueUrl':
        return input.QueueName === QUEUE
          ? jsonAnswer(200, { QueueUrl: URL_OF_QUEUE })
          : sqsRefusal(400, 'QueueDoesNotExist', 'The specified queue does not exist.');
      case 'ReceiveMessage':
        return jsonAnswer(200, await this.#receive(input, signal));
      case 'DeleteMessage':
        this.#delete(input.ReceiptHandle ?? '');
        return jsonAnswer(200, {});
      default:
        return sqsRefusal(400, 'UnsupportedOperation', `The action ${action} is not supported.`);
    }
  }

  async #receive(
    {
      WaitTimeSeconds = 0,
      MaxNumberOfMessages = 1,
      VisibilityTimeout = 30,
    }: {
      readonly WaitTimeSeconds?: number;
      readonly MaxNumberOfMessages?: number;
      readonly VisibilityTimeout?: number;
    },
    signal: AbortSignal | undefined,
  ): Promise<object> {
    const until = this.#now + WaitTimeSeconds * 1_000;
    while (!this.#messages.some((each) => each.visibleFrom <= this.#now) && this.#now < until && !signal?.aborted)
      await pause(this.#clock, LOOK_MS, signal ?? new AbortController().signal);
    const found = this.#messages.filter((each) => each.visibleFrom <= this.#now).slice(0, MaxNumberOfMessages);
    for (const each of found) {
      each.visibleFrom = this.#now + VisibilityTimeout * 1_000;
      each.receipt = `${each.id}-${this.#next++}`;
    }
    if (found.length === 0) return {};
    const Messages = found.map(({ id, body, receipt }) => ({
      MessageId: id,
      Body: body,
      // The SDK refuses a message without a checksum.
      MD5OfBody: createHash('md5').update(body).digest('hex'),
      ReceiptHandle: receipt,
    }));
    return { Messages };
  }

  /** Deletes a message. As in SQS, the receipt of an earlier delivery does not delete the message. */
  #delete(receipt: string): void {
    const at = this.#messages.findIndex((each) => each.receipt === receipt);
    if (at >= 0) this.#messages.splice(at, 1);
  }

  get #now(): number {
    return this.#clock.now().getTime();
  }
}

const QUEUE = 'mcm-interruptions';
const URL_OF_QUEUE = `https://sqs.eu-west-1.amazonaws.com/000000000000/${QUEUE}`;
