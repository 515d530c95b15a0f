import type { ServedCertificate } from '../../admission/certificate-files.ts';
import type { CertificateInUse } from './certificates.ts';
import type { Warnings } from './warnings.ts';

/** The certificates that the connections of a process use, for warnings about their expiry. */
export class CertificatesInUse {
  readonly #byWhat = new Map<string, CertificateInUse>();
  #changed = new AbortController();

  get changed(): AbortSignal {
    return this.#changed.signal;
  }

  use(certificate: CertificateInUse): void {
    const { what } = certificate;
    this.#byWhat.set(what, certificate);
    const before = this.#changed;
    this.#changed = new AbortController();
    before.abort(new Error(`the ${what} was replaced`));
  }

  list(): readonly CertificateInUse[] {
    return [...this.#byWhat.values()];
  }
}

/** @param what Name of the certificate, such as `webhook certificate` */
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
