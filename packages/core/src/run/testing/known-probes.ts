import type { Transport, TransportResponse } from '@mcm/kube';

/** The object that a probe of the API server requests. It never exists. */
const PROBE = /\/dummy-name$/;

/** Answers a probe like the first one of the same object, without the server. Probes are nine of ten requests of an idle hour. */
export function withKnownProbes(transport: Transport): Transport {
  const known = new Map<string, TransportResponse>();
  return async (request) => {
    const { method, path } = request;
    if (method !== 'GET' || !PROBE.test(path)) return transport(request);
    const first = known.get(path) ?? (await kept(await transport(request)));
    if (first.status === 404) known.set(path, first);
    return first;
  };
}

/** The same answer, which can be read more than once. */
async function kept(answer: TransportResponse): Promise<TransportResponse> {
  const { status, headers } = answer;
  const text = await answer.text();
  return { status, headers, body: null, text: () => Promise.resolve(text) };
}
