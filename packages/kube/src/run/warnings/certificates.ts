import { keyFits, parseCertificate } from '../../credentials/key-pair.ts';
import type { MeterLabels, Meters } from '../../metrics/meters.ts';

/** Warned of so long before it ends: a week to issue another. */
export const SOON_MS = 7 * 24 * 3_600_000;

/** A certificate in use, and its key where it is ours. PEM. */
export interface CertificateInUse {
  /** For sentence and metric: `client certificate of the control cluster`. */
  readonly what: string;
  readonly certificate: string;
  readonly key?: string;
  /** Where it was read, for the sentence. */
  readonly from?: string | undefined;
}

/** What is wrong with a certificate, and when it ends. */
export interface CertificateJudgement {
  /** Absent: nothing is. */
  readonly sentence?: string;
  /** Milliseconds since the epoch; absent where it cannot be read. */
  readonly endsAt?: number;
}

/** The gauge of when certificates end, by `what`. */
export const expiryMeter = (meters: Meters): ((seconds: number, labels?: MeterLabels) => void) =>
  meters.gauge({
    name: 'certificate_expiration_timestamp_seconds',
    help: 'When a certificate in use ends, in seconds since the epoch',
    labels: ['what'],
  });

/** Judges a certificate at `now`. */
export function judgeCertificate(
  { what, certificate, key, from: where }: CertificateInUse,
  now: Date,
): CertificateJudgement {
  const parsed = parseCertificate(certificate);
  const named = where === undefined ? what : `${what} (${where})`;
  if (parsed === undefined) return { sentence: `the ${named} is not a PEM certificate; put one there` };
  const [from, until] = [Date.parse(parsed.validFrom), Date.parse(parsed.validTo)];
  const sentence = fault({
    what: named,
    from,
    until,
    now: now.getTime(),
    fits: key === undefined || keyFits(parsed, key),
  });
  return { ...(sentence === undefined ? {} : { sentence }), endsAt: until };
}

interface Facts {
  readonly what: string;
  readonly from: number;
  readonly until: number;
  readonly now: number;
  readonly fits: boolean;
}

function fault({ what, from, until, now, fits }: Facts): string | undefined {
  const at = (time: number): string => new Date(time).toISOString();
  if (!fits) return `the ${what} and its key do not belong together; put in the pair that was issued together`;
  if (now > until) return `the ${what} expired at ${at(until)}; issue another`;
  if (now < from) return `the ${what} is valid only from ${at(from)}; look at this machine's clock, or issue another`;
  if (until - now < SOON_MS) return `the ${what} expires at ${at(until)}; issue another before then`;
  return undefined;
}

/** What TLS says when it does not trust a server, by its codes (node:tls), and the cure; `CA`: where the authority is read. */
const UNTRUSTED: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired; renew it there',
  CERT_NOT_YET_VALID: "is not valid yet; look at this machine's clock",
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name; give the right server, or tls-server-name, in the kubeconfig',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'is signed by an authority that is not in CA; put it there',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'is signed by an authority that is not in CA; put it there',
  SELF_SIGNED_CERT_IN_CHAIN: 'is signed by an authority that is not in CA; put it there',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed; put it into CA',
  CERT_SIGNATURE_FAILURE: 'is signed by another authority of the same name; put the new one into CA',
};

/** Where an authority belongs that was never given. */
const CA = 'certificate-authority-data of the kubeconfig';

const codeOf = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return code !== undefined && code in UNTRUSTED ? code : codeOf(error.cause);
};

/** Says why a server's certificate is not trusted; undefined for any other failure. @param ca where the authority is read */
export function untrustedSentence(server: string, error: unknown, ca = CA): string | undefined {
  const code = codeOf(error);
  const why = code === undefined ? undefined : UNTRUSTED[code]?.replace('CA', ca);
  return why && `the certificate of the ${server} API server ${why} (${code})`;
}
