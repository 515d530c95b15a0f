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
/**
 * Matches the Secret with the kubeconfig of a cluster. The Secret is not a machine object, so a replica may change its
 * finalizer without the Lease of the cluster.
 */
const KUBECONFIG = /\/secrets\/(fleet|main)-kubeconfig(\?|$)/;
const EVENTS = /\/events(\/|\?|$)/;

export interface Writer {
  readonly identity: string;
  readonly lease: string;
  readonly proc: SimulatedProcess;
}

/** Records which process holds the Lease of each cluster, and reports writes of all other processes. */
export class Fences {
  readonly #reporter: Reporter;
  readonly #holders = new Map<string, string>();
  verified = 0;

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  holder(cluster: string, lease: string): string {
    return this.#holders.get(`${cluster}/${lease}`) ?? '';
  }

  /**
   * Wraps the transport to an API server, and observes the Leases. In a seed, the namespace of a Lease identifies the
   * cluster. Without a seed, each API server belongs to one cluster.
   */
  sees(transport: Transport, cluster?: string): Transport {
    return async (request) => {
      const answer = await transport(request);
      if (!WRITES.has(request.method) || !LEASES.test(request.path) || answer.status >= 300) return answer;
      const text = await answer.text();
      if (request.method !== 'DELETE') this.#note(JSON.parse(text) as LeaseBody, cluster);
      return answerOf(answer.status, text);
    };
  }

  #note({ metadata: { name, namespace }, spec }: LeaseBody, cluster = namespace): void {
    const key = `${cluster}/${name}`;
    // `holderIdentity` consists of the process identity and a run number. Only the process identity is compared.
    const holder = (spec?.holderIdentity ?? '').replace(/\.\d+$/, '');
    const before = this.#holders.get(key) ?? '';
    if (holder !== before) this.#reporter.note('state', `lease ${key}: ${before} → ${holder}`);
    this.#holders.set(key, holder);
  }

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

export const clusterOfRequest = (server: string, { path }: TransportRequest): string | undefined =>
  server === SEED ? /\/namespaces\/(c\d+)(\/|\?|$)/.exec(path)?.[1] : server;
