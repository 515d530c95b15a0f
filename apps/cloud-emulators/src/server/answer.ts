import type { TransportResponse } from '@mcm/kube';

/** An answer as the emulators give it: whole, with headers that a server can send on. */
export interface Answer extends TransportResponse {
  readonly sent: Readonly<Record<string, string>>;
}

/** @param headers names in lower case */
export const answer = (status: number, text: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { get: (name) => headers[name.toLowerCase()] ?? null },
  text: async () => text,
  body: null,
  sent: headers,
});

/** An answer in JSON; without a body, one that is empty. */
export const jsonAnswer = (status: number, body?: object, headers: Readonly<Record<string, string>> = {}): Answer =>
  body === undefined
    ? answer(status, '', headers)
    : answer(status, JSON.stringify(body), { 'content-type': 'application/json; charset=utf-8', ...headers });

/** The headers of an answer, read through an interface with access to single headers only. */
export const headersOf = (response: TransportResponse): Readonly<Record<string, string>> =>
  'sent' in response ? (response as Answer).sent : {};
