import type { TransportResponse } from '@mcm/kube';

const encoder = new TextEncoder();

/** A `Response` of Node.js is much more expensive, so the simulation uses its own object. */
export function answerOf(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): TransportResponse {
  return {
    status,
    headers: {
      get: (name) => headers[name.toLowerCase()] ?? (name.toLowerCase() === 'content-type' ? 'application/json' : null),
    },
    text: () => Promise.resolve(text),
    get body() {
      return once(encoder.encode(text));
    },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes;
}
