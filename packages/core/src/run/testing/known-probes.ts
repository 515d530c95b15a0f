import type { Transport, TransportResponse } from '@mcm/kube';

const PROBE = /\/dummy-name$/;

/**
 * Answers repeated probes of an object with the first response. In an idle hour, nine of ten requests are probes, so
 * known responses make tests faster.
 */
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

async function kept(answer: TransportResponse): Promise<TransportResponse> {
  const { status, headers } = answer;
  const text = await answer.text();
  return { status, headers, body: null, text: () => Promise.resolve(text) };
}
