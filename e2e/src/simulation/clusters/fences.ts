import type { Reporter, SimulatedProcess } from '@mcm/conformance/fleet';
import type { Transport, TransportRequest } from '@mcm/kube';
import { answerOf } from '../network/answer.ts';
import { SEED } from './wires.ts';

interface LeaseBody {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec?: { readonly holderIdentity?: string };
}

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const LEASES = /\/leases(\/|\?|$)/;
const REVIEWS = /\/([a-z]+reviews)(\?|$)/;
/** The kubeconfig Secret is no machine object. A replica may change the finalizer of the Secret without a Lease. */
const KUBECONFIG = /\/secrets\/fleet-kubeconfig(\?|$)/;
const EVENTS = /\/events(\/|\?|$)/;

/** A process of a fleet, as the verifier sees it. */
export interface Writer {
  readonly identity: string;
  readonly lease: string;
  readonly proc: SimulatedProcess;
}

/** Records the holder of the Lease of each cluster, and reports each write of a process that is not the holder. */
export class Fences {
  readonly #reporter: Reporter;
  readonly #holders = new Map<string, string>();
  /** The number of verified writes. */
  verified = 0;

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  /** The identity of the process that holds the Lease of a cluster, empty if the Lease is free. */
  holder(cluster: string, lease: string): string {
    return this.#holders.get(`${cluster}/${lease}`) ?? '';
  }

  /** Observes the Leases in the seed. */
  sees(transport: Transport): Transport {
    return async (request) => {
      const answer = await transport(request);
      if (!WRITES.has(request.method) || !LEASES.test(request.path) || answer.status >= 300) return answer;
      const text = await answer.text();
      if (request.method !== 'DELETE') this.#note(JSON.parse(text) as LeaseBody);
      return answerOf(answer.status, text);
    };
  }

  #note({ metadata: { name, namespace }, spec }: LeaseBody): void {
    const key = `${namespace}/${name}`;
    // Each term of a process has its own number after the identity of the process.
    const holder = (spec?.holderIdentity ?? '').replace(/\.\d+$/, '');
    const before = this.#holders.get(key) ?? '';
    if (holder !== before) this.#reporter.note('state', `lease ${key}: ${before} → ${holder}`);
    this.#holders.set(key, holder);
  }

  /** Verifies a write to a cluster when the write leaves its process. */
  verify({ identity, lease, proc }: Writer, cluster: string, { method, path }: TransportRequest): void {
    if (!WRITES.has(method) || LEASES.test(path) || REVIEWS.test(path) || EVENTS.test(path) || KUBECONFIG.test(path))
      return;
    if (proc.dead || proc.frozen) return;
    const holder = this.holder(cluster, lease);
    this.verified += 1;
    if (holder !== identity)
      this.#reporter.violate(
        `${identity} sends ${method} ${path.split('?')[0]} for cluster ${cluster} while "${holder}" holds its Lease`,
      );
  }
}

/** The cluster to which a request to the seed belongs, undefined for requests without a namespace of a cluster. */
export const clusterOfRequest = (server: string, { path }: TransportRequest): string | undefined =>
  server === SEED ? /\/namespaces\/(c\d+)(\/|\?|$)/.exec(path)?.[1] : server;
