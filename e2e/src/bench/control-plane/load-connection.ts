import { connect, type TLSSocket } from 'node:tls';

export interface LoadTarget {
  readonly port: number;
  readonly caCertificate: string;
  readonly token: string;
}

export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const CLOSED = 'the server has closed the connection';
const LENGTH = /\r\ncontent-length: (\d+)\r\n/i;

/** A minimal HTTP client. A complete client would need more CPU time per request than the server. */
export class LoadConnection {
  readonly #socket: TLSSocket;
  readonly #head: string;
  #received: Buffer[] = [];
  #missing = -1;
  #waiting: { resolve: (status: number) => void; reject: (error: Error) => void } | undefined;
  #status = 0;
  #body: Buffer[] = [];

  private constructor(socket: TLSSocket, token: string) {
    this.#socket = socket;
    this.#head = `host: localhost\r\naccept: application/json\r\nauthorization: Bearer ${token}\r\nuser-agent: bench\r\n`;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error(CLOSED)));
  }

  static open(target: LoadTarget): Promise<LoadConnection> {
    return new Promise((resolve, reject) => {
      const { port, caCertificate, token } = target;
      const socket = connect({ port, host: '127.0.0.1', ca: caCertificate, servername: 'localhost' }, () => {
        socket.off('error', reject);
        resolve(new LoadConnection(socket, token));
      });
      socket.setNoDelay(true);
      socket.once('error', reject);
    });
  }

  send({ method, path, body = '', contentType = 'application/json' }: LoadRequest): Promise<number> {
    if (this.#socket.destroyed) return Promise.reject(new Error(CLOSED));
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#waiting = { resolve, reject };
    const entity = body === '' ? '' : `content-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
    this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${entity}\r\n${body}`);
    return promise;
  }

  get text(): string {
    return Buffer.concat(this.#body).toString();
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#missing >= 0) {
      this.#missing -= chunk.length;
      this.#body.push(chunk);
    } else {
      this.#received.push(chunk);
      const bytes = this.#received.length === 1 ? chunk : Buffer.concat(this.#received);
      const end = bytes.indexOf(HEAD_END);
      if (end < 0) return;
      const head = bytes.toString('latin1', 0, end + 2);
      this.#status = Number(head.slice(9, 12));
      this.#missing = Number(LENGTH.exec(head)?.[1] ?? 0) - (bytes.length - end - HEAD_END.length);
      this.#received = [];
      this.#body = [bytes.subarray(end + HEAD_END.length)];
    }
    if (this.#missing > 0) return;
    this.#missing = -1;
    this.#waiting?.resolve(this.#status);
  }
}

/** @throws Error if a response has another status than `expected`. */
export async function drive(
  connections: readonly LoadConnection[],
  requests: Iterator<LoadRequest>,
  expected: number,
): Promise<number> {
  const start = performance.now();
  const worker = async (connection: LoadConnection): Promise<void> => {
    for (let next = requests.next(); next.done !== true; next = requests.next()) {
      const status = await connection.send(next.value);
      if (status !== expected)
        throw new Error(`the server responded to ${next.value.method} ${next.value.path} with status ${status}`);
    }
  };
  await Promise.all(connections.map(worker));
  return (performance.now() - start) / 1000;
}
