import type { ServerResponse } from 'node:http';
import type { Frame } from '@mcm/dashboard';

/** The delay before a browser reconnects, in milliseconds. */
const RETRY_MS = 1_000;
/**
 * The maximum amount of unread data of a client, in bytes. A client above the limit gets no changes until it has read
 * all data. After the client has read all data, it gets all rows again.
 */
const MOST_BEHIND = 4_000_000;

interface Client {
  readonly response: ServerResponse;
  behind: boolean;
}

const encoded = (frame: Frame): string => `data: ${JSON.stringify(frame)}\n\n`;

/** Sends messages to all connected pages. Each message is encoded once. */
export class Hub {
  readonly #clients = new Set<Client>();
  readonly #first: () => Frame;

  /** @param first Creates the first message of a connection, which contains all rows */
  constructor(first: () => Frame) {
    this.#first = first;
  }

  get size(): number {
    return this.#clients.size;
  }

  /** Sends all rows to a new client, and then all changes until the client closes the connection. */
  join(response: ServerResponse): void {
    const client: Client = { response, behind: false };
    response.write(`retry: ${RETRY_MS}\n\n`);
    response.write(encoded(this.#first()));
    this.#clients.add(client);
    response.once('close', () => this.#clients.delete(client));
    response.on('drain', () => {
      if (!client.behind) return;
      client.behind = false;
      response.write(encoded(this.#first()));
    });
  }

  send(frame: Frame): void {
    if (this.#clients.size === 0) return;
    const text = encoded(frame);
    for (const client of this.#clients) this.#write(client, text);
  }

  /** Sends an empty message. The empty message keeps connections open, and tells the pages that the server runs. */
  beat(): void {
    for (const client of this.#clients) this.#write(client, ': beat\n\n');
  }

  #write(client: Client, text: string): void {
    if (client.behind) return;
    if (client.response.writableLength > MOST_BEHIND) client.behind = true;
    else client.response.write(text);
  }

  close(): void {
    for (const { response } of this.#clients) response.end();
    this.#clients.clear();
  }
}
