import { keyFits, parseCertificate } from '../../credentials/key-pair.ts';
import type { MeterLabels, Meters } from '../../metrics/meters.ts';

/** The time before the expiry at which warnings start, so that users have time to issue a new certificate. */
export const SOON_MS = 7 * 24 * 3_600_000;

/** A certificate in PEM format, with its key if the process has the key. */
export interface CertificateInUse {
  readonly what: string;
  readonly certificate: string;
  readonly key?: string;
  readonly from?: string | undefined;
}

export interface CertificateCheck {
  readonly sentence?: string | undefined;
  readonly endsAt?: number;
}

export const expiryMeter = (meters: Meters): ((seconds: number, labels?: MeterLabels) => void) =>
  meters.gauge({
    name: 'certificate_expiration_timestamp_seconds',
    help: 'Expiry time of a certificate in use, in seconds since the epoch',
    labels: ['what'],
  });

export function checkCertificate(
  { what, certificate, key, from: where }: CertificateInUse,
  now: Date,
): CertificateCheck {
  const parsed = parseCertificate(certificate);
  const named = where === undefined ? what : `${what} (${where})`;
  if (parsed === undefined)
    return { sentence: `the ${named} is not a PEM certificate; replace the file content with a PEM certificate` };
  const [from, until] = [Date.parse(parsed.validFrom), Date.parse(parsed.validTo)];
  const sentence = fault({
    certificateName: named,
    from,
    until,
    now: now.getTime(),
    fits: key === undefined || keyFits(parsed, key),
  });
  return { sentence, endsAt: until };
}

interface Facts {
  readonly certificateName: string;
  readonly from: number;
  readonly until: number;
  readonly now: number;
  readonly fits: boolean;
}

function fault({ certificateName, from, until, now, fits }: Facts): string | undefined {
  const at = (time: number): string => new Date(time).toISOString();
  if (!fits) return `the ${certificateName} and its key do not match; use a certificate with its own key`;
  if (now > until) return `the ${certificateName} expired at ${at(until)}; issue a new certificate`;
  if (now < from)
    return `the ${certificateName} is valid only from ${at(from)}; check the clock of this machine, or issue a new certificate`;
  if (until - now < SOON_MS)
    return `the ${certificateName} expires at ${at(until)}; issue a new certificate before the expiry`;
  return undefined;
}

const unknownAuthority = (certificate: string, ca: string): string =>
  `${certificate} is signed by an authority that is not in ${ca}; add this authority`;

/** The problem and a hint for each TLS error code of Node.js about a server certificate. */
const UNTRUSTED: Readonly<Record<string, (certificate: string, ca: string) => string>> = {
  CERT_HAS_EXPIRED: (certificate) => `${certificate} has expired; renew the certificate on the server`,
  CERT_NOT_YET_VALID: (certificate) => `${certificate} is not valid yet; check the clock of this machine`,
  ERR_TLS_CERT_ALTNAME_INVALID: (certificate) =>
    `${certificate} is not valid for the host name of the server; correct server or tls-server-name in the kubeconfig`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: (certificate, ca) => `${certificate} is self-signed; add the certificate to ${ca}`,
  CERT_SIGNATURE_FAILURE: (certificate, ca) =>
    `${certificate} is signed by another authority of the same name; add the new authority to ${ca}`,
};

/** The default source of a certificate authority in messages. */
const CA = 'certificate-authority-data of the kubeconfig';

const codeOf = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return code !== undefined && code in UNTRUSTED ? code : codeOf(error.cause);
};

/** Returns a sentence about an untrusted server certificate, or undefined for other errors. */
export function untrustedSentence(server: string, error: unknown, ca = CA): string | undefined {
  const code = codeOf(error);
  const sentence =
    code === undefined ? undefined : UNTRUSTED[code]?.(`the certificate of the ${server} API server`, ca);
  return sentence && `${sentence} (${code})`;
}
