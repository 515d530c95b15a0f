import type { TransportRequest, TransportResponse } from '@mcm/kube';
import { answerOf } from './answer.ts';

const MACHINES = /\/machines(\/|\?|$)/;
const decoder = new TextDecoder();

const nameIn = (body = ''): string | undefined => /"metadata":\{"name":"([^"]+)"/.exec(body)?.[1];
const isCreation = ({ method, path }: TransportRequest): boolean => method === 'POST' && path.endsWith('/machines');

/** Finds the machines whose creation a manager repeated before it had received their name in a response or event. */
export class UnreadMachines {
  readonly #unread = new Set<string>();
  readonly #repeated = new Set<string>();

  isRepeated(name: string): boolean {
    return this.#repeated.has(name);
  }

  sent(request: TransportRequest): void {
    const name = isCreation(request) ? nameIn(request.body) : undefined;
    if (name === undefined) return;
    if (this.#unread.has(name)) this.#repeated.add(name);
    else this.#repeated.delete(name);
    this.#unread.add(name);
  }

  answered(request: TransportRequest, answer: TransportResponse): TransportResponse | Promise<TransportResponse> {
    const isRead = request.method === 'GET' && answer.status === 200;
    if (this.#unread.size === 0 || !MACHINES.test(request.path)) return answer;
    if (isCreation(request) && (answer.status === 201 || answer.status === 409))
      this.#unread.delete(nameIn(request.body) ?? '');
    return isRead ? this.#read(answer) : answer;
  }

  async #read(answer: TransportResponse): Promise<TransportResponse> {
    const text = await answer.text();
    this.#receives(text);
    return answerOf(answer.status, text);
  }

  received(path: string, bytes: Uint8Array): void {
    if (this.#unread.size > 0 && MACHINES.test(path)) this.#receives(decoder.decode(bytes));
  }

  #receives(text: string): void {
    for (const name of this.#unread) if (text.includes(`"${name}"`)) this.#unread.delete(name);
  }
}
