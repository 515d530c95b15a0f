import type { ServerResponse } from 'node:http';
import type { Frame } from '@mcm/dashboard';

const RETRY_MS = 1_000;
/** The maximum number of unread bytes of a client. A client above this limit receives no further changes. */
const MOST_BEHIND = 4_000_000;

interface Client {
  readonly response: ServerResponse;
  behind: boolean;
}

const encoded = (frame: Frame): string => `data: ${JSON.stringify(frame)}\n\n`;

/** Sends messages to all connected pages. */
export class Hub {
  readonly #clients = new Set<Client>();
  readonly #first: () => Frame;

  constructor(first: () => Frame) {
    this.#first = first;
  }

  get size(): number {
    return this.#clients.size;
  }

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
