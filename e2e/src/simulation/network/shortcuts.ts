import type { Clock, Transport, TransportResponse } from '@mcm/kube';
import { answerOf } from './answer.ts';

/** Matches the path of the object that a reachability probe reads. */
const PROBE = /\/dummy-name$/;
const RENEWAL = /\/namespaces\/kube-node-lease\/leases\/[^/?]+$/;
/** After 50 s without a renewal, a Node becomes unreachable. */
const SPARED_MS = 35_000;

interface Kept {
  readonly status: number;
  readonly text: string;
  readonly at: number;
}

async function keep(answer: TransportResponse, at: number): Promise<Kept> {
  return { status: answer.status, text: await answer.text(), at };
}

const again = ({ status, text }: Kept): TransportResponse => answerOf(status, text);

/**
 * If the response and the effect of a request are known, returns a stored response and does not call the server.
 * - A reachability probe gets the response of the first probe.
 * - With `renewals`, the renewal of a kubelet's Lease gets the response of the last renewal, if it is recent.
 */
export function withShortcuts(
  clock: Clock,
  transport: Transport,
  { renewals }: { readonly renewals: boolean },
): Transport {
  const probes = new Map<string, Kept>();
  const leases = new Map<string, Kept>();
  return async (request) => {
    const { method, path } = request;
    if (method === 'GET' && PROBE.test(path)) {
      const known = probes.get(path);
      if (known) return again(known);
      const first = await keep(await transport(request), clock.monotonic());
      if (first.status === 404) probes.set(path, first);
      return again(first);
    }
    if (!renewals || method !== 'PATCH' || !RENEWAL.test(path)) return transport(request);
    const last = leases.get(path);
    if (last && clock.monotonic() - last.at < SPARED_MS) return again(last);
    const answer = await keep(await transport(request), clock.monotonic());
    if (answer.status === 200) leases.set(path, answer);
    else leases.delete(path);
    return again(answer);
  };
}
