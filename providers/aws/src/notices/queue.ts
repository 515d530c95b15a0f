import type { SQSClient } from '@aws-sdk/client-sqs';
import type { InterruptionNotice, NoticeAnswer, ObservedCall } from '@mcm/core/driver';
import type { Ec2Session } from '../ec2/client.ts';
import { noticesIn } from './messages.ts';

type SqsSdk = Awaited<ReturnType<typeof loadSqs>>;

async function loadSqs() {
  const { SQSClient, GetQueueUrlCommand, ReceiveMessageCommand, DeleteMessageCommand } = await import(
    '@aws-sdk/client-sqs'
  );
  return { SQSClient, GetQueueUrlCommand, ReceiveMessageCommand, DeleteMessageCommand };
}

const WAIT_SECONDS = 20;
const BATCH = 10;
const VISIBILITY_SECONDS = 30;
/** The maximum number of batches in one call of `wait`, so that the call ends even if notices arrive continuously. */
const MOST_BATCHES = 50;

interface Wait {
  readonly notify: (notice: InterruptionNotice) => Promise<NoticeAnswer>;
  readonly timed: ObservedCall;
  readonly signal: AbortSignal;
}

/** An SQS queue that receives events about EC2 instances from EventBridge. */
export class NoticeQueue {
  readonly #sdk: SqsSdk;
  readonly #client: SQSClient;
  readonly #name: string;
  #url: string | undefined;

  private constructor(sdk: SqsSdk, client: SQSClient, name: string) {
    this.#sdk = sdk;
    this.#client = client;
    this.#name = name;
  }

  /** Opens the queue with the keys and the connection of the EC2 client. */
  static async open(
    { region, keys, requestHandler, userAgent, reach }: Ec2Session,
    name: string,
  ): Promise<NoticeQueue> {
    const sdk = await loadSqs();
    const client = new sdk.SQSClient({
      region,
      requestHandler,
      credentials: keys,
      maxAttempts: 1,
      customUserAgent: userAgent,
      ...reach,
    });
    return new NoticeQueue(sdk, client, name);
  }

  /** Waits for notices. The queue deletes a message after `done` was called for all notices in the message. */
  async wait(wait: Wait): Promise<void> {
    const { timed, signal } = wait;
    const url = await this.#urlOf(wait);
    for (let batch = 0; batch < MOST_BATCHES; batch++) {
      const command = new this.#sdk.ReceiveMessageCommand({
        QueueUrl: url,
        MaxNumberOfMessages: BATCH,
        WaitTimeSeconds: batch === 0 ? WAIT_SECONDS : 0,
        VisibilityTimeout: VISIBILITY_SECONDS,
      });
      const { Messages = [] } = await timed('sqs_receive_message', () =>
        this.#client.send(command, { abortSignal: signal }),
      );
      if (Messages.length === 0) return;
      await Promise.all(Messages.map(({ Body, ReceiptHandle }) => this.#take(url, Body, ReceiptHandle, wait)));
    }
  }

  async #urlOf({ timed, signal }: Wait): Promise<string | undefined> {
    if (this.#url !== undefined) return this.#url;
    const command = new this.#sdk.GetQueueUrlCommand({ QueueName: this.#name });
    const { QueueUrl } = await timed('sqs_get_queue_url', () => this.#client.send(command, { abortSignal: signal }));
    this.#url = QueueUrl;
    return QueueUrl;
  }

  async #take(
    url: string | undefined,
    body: string | undefined,
    receipt: string | undefined,
    { notify, timed, signal }: Wait,
  ): Promise<void> {
    for (const notice of noticesIn(body)) if ((await notify(notice)) === 'later') return;
    const command = new this.#sdk.DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: receipt });
    await timed('sqs_delete_message', () => this.#client.send(command, { abortSignal: signal }));
  }
}
