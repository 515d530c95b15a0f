import type { TransportResponse } from '@mcm/kube';

/** A complete response of an emulator, with headers in the form that a server sends. */
export interface Answer extends TransportResponse {
  readonly sent: Readonly<Record<string, string>>;
}

/**
 * Returns a response with a text as its body.
 * @param headers The headers, with names in lower case
 */
export const answer = (status: number, text: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { get: (name) => headers[name.toLowerCase()] ?? null },
  text: async () => text,
  body: null,
  sent: headers,
});

/** Returns a response with a JSON body, or with an empty body if `body` is absent. */
export const jsonAnswer = (status: number, body?: object, headers: Readonly<Record<string, string>> = {}): Answer =>
  body === undefined
    ? answer(status, '', headers)
    : answer(status, JSON.stringify(body), { 'content-type': 'application/json; charset=utf-8', ...headers });

/** Collects the headers of a response. The interface of transports gives access only to single headers. */
export const headersOf = (response: TransportResponse): Readonly<Record<string, string>> =>
  'sent' in response ? (response as Answer).sent : {};
