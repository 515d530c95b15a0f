import type { ServedCertificate } from '../../admission/certificate-files.ts';
import type { CertificateInUse } from './certificates.ts';
import type { Warnings } from './warnings.ts';

/** The certificates that a process shows and trusts, so that somebody is told before they end. */
export class CertificatesInUse {
  readonly #byWhat = new Map<string, CertificateInUse>();
  #changed = new AbortController();

  /** Aborts at the next change. */
  get changed(): AbortSignal {
    return this.#changed.signal;
  }

  /** Takes note of one that is in use from now on, in place of the one before of the same `what`. */
  use(certificate: CertificateInUse): void {
    const { what } = certificate;
    this.#byWhat.set(what, certificate);
    const before = this.#changed;
    this.#changed = new AbortController();
    before.abort(new Error(`the ${what} is another`));
  }

  /** Those in use now. */
  list(): readonly CertificateInUse[] {
    return [...this.#byWhat.values()];
  }
}

/** Takes note of the certificate of one service. @param what as a sentence names it: `webhook certificate` */
export const servedCertificate = (
  what: string,
  { certificates, warnings }: { readonly certificates: CertificatesInUse; readonly warnings: Warnings },
): ServedCertificate => ({
  use: ({ cert, key }, from) => certificates.use({ what, certificate: cert, key, from }),
  unusable: (sentence) => {
    if (sentence === undefined) warnings.clear('credentials', what);
    else warnings.raise('credentials', what, sentence);
  },
});
