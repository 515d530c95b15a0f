import type { Reporter, SimulatedProcess } from '@mcm/conformance/fleet';
import type { Transport } from '@mcm/kube';
import { answerOf } from '../network/answer.ts';

interface LeaseBody {
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly holderIdentity?: string };
}

interface Candidate {
  readonly identity: string;
  readonly proc: SimulatedProcess;
  readonly lease: string;
}

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const LEASES = /\/leases(\/|\?|$)/;

/** Records the holder of each Lease in the API server. */
export class FenceVerifier {
  readonly #reporter: Reporter;
  readonly #holders = new Map<string, string>();
  readonly #identities = new Map<SimulatedProcess, string>();

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  holds(proc: SimulatedProcess): boolean {
    const identity = this.#identities.get(proc);
    return identity !== undefined && [...this.#holders.values()].includes(identity);
  }

  sees(transport: Transport): Transport {
    return async (request) => {
      const answer = await transport(request);
      if (!WRITES.has(request.method) || !LEASES.test(request.path) || answer.status >= 300) return answer;
      const text = await answer.text();
      const { metadata, spec } = JSON.parse(text) as LeaseBody;
      const before = this.#holders.get(metadata.name);
      const holder = spec?.holderIdentity ?? '';
      if (holder !== before) this.#reporter.note('state', `lease ${metadata.name}: ${before ?? ''} → ${holder}`);
      this.#holders.set(metadata.name, holder);
      return answerOf(answer.status, text);
    };
  }

  /** Wraps a transport, and verifies each request when the process sends it. */
  wrap({ identity, proc, lease }: Candidate, transport: Transport): Transport {
    this.#identities.set(proc, identity);
    return (request) => {
      const holder = this.#holders.get(lease) ?? '';
      const { method, path } = request;
      const writes = WRITES.has(method) && !LEASES.test(path) && !/\/([a-z]+reviews)(\?|$)/.test(path);
      if (writes && !proc.dead && !proc.frozen && holder !== '' && holder !== identity)
        this.#reporter.violate(`${identity} sends ${method} ${path.split('?')[0]} although ${holder} is the leader`);
      return transport(request);
    };
  }
}
