import type { TransportResponse } from '@mcm/kube';

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

/** Returns a response with a JSON body. */
export const jsonAnswer = (status: number, body?: object, headers: Readonly<Record<string, string>> = {}): Answer =>
  body === undefined
    ? answer(status, '', headers)
    : answer(status, JSON.stringify(body), { 'content-type': 'application/json; charset=utf-8', ...headers });

export const headersOf = (response: TransportResponse): Readonly<Record<string, string>> =>
  'sent' in response ? (response as Answer).sent : {};
