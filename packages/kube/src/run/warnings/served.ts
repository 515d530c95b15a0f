import type { ServingPair } from '../../admission/server.ts';
import type { CertificateInUse } from './certificates.ts';

/** The certificates that services of a process serve with, so that somebody is told before they end. */
export class ServedCertificates {
  readonly #pairs = new Map<string, ServingPair>();
  #changed = new AbortController();

  /** Aborts at the next change. */
  get changed(): AbortSignal {
    return this.#changed.signal;
  }

  /** Takes note of the pair that is served from now on. @param what as a sentence names it: `webhook certificate` */
  use(what: string, pair: ServingPair): void {
    this.#pairs.set(what, pair);
    const before = this.#changed;
    this.#changed = new AbortController();
    before.abort(new Error(`the ${what} is another`));
  }

  /** Those in use now. */
  list(): readonly CertificateInUse[] {
    return [...this.#pairs].map(([what, { cert, key }]) => ({ what, certificate: cert, key }));
  }
}
