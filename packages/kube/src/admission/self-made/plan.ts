import type { Authority, Certificates } from './contents.ts';
import type { Validity } from './issue.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/**
 * Lifetimes in milliseconds. An authority is followed by the next one while it has longer to live than any certificate
 * that it signed, and the next one signs only when clients have had it for a day: at each moment every client trusts
 * what is served.
 */
export const LIFETIMES = {
  authority: 365 * DAY,
  nextAuthorityBefore: 120 * DAY,
  overlap: DAY,
  serving: 90 * DAY,
  renewServingBefore: 30 * DAY,
  /** Clocks of clients may be behind ours. */
  skew: 5 * MINUTE,
} as const;

/** What is to be done about the shared certificates. */
export interface CertificatePlan {
  /** Authorities that clients continue trusting, newest first. */
  readonly keep: readonly Authority[];
  readonly makeAuthority: Validity | undefined;
  /** A serving certificate to be made; `signer` undefined: the authority that is made. */
  readonly serve:
    | ({ readonly signer: Authority | undefined; readonly names: readonly string[] } & Validity)
    | undefined;
  /** Whether anything differs from what is stored. */
  readonly changes: boolean;
  /** When there will be something to do. */
  readonly lookAgainAt: Date;
}

const validFor = (now: Date, ms: number): Validity => ({
  from: new Date(now.getTime() - LIFETIMES.skew),
  until: new Date(now.getTime() + ms),
});

const ms = (date: Date): number => date.getTime();

/** Decides what becomes of the certificates. Pure; a second look at the result finds nothing to do. */
export function planCertificates(have: Certificates, names: readonly string[], now: Date): CertificatePlan {
  const { serving } = have;
  const keep = have.authorities.filter((authority) => authority.until > now);
  const able = keep.filter((authority) => authority.key !== undefined);
  const newest = able[0];
  const nextDue = newest === undefined ? now : new Date(ms(newest.until) - LIFETIMES.nextAuthorityBefore);
  const makeAuthority = nextDue <= now ? validFor(now, LIFETIMES.authority) : undefined;
  const takesOverAt = (authority: Authority): number => ms(authority.from) + LIFETIMES.skew + LIFETIMES.overlap;
  // The newest that all clients have by now; if there is none, the one that they have had for the longest.
  const signer = able.find((authority) => takesOverAt(authority) <= ms(now)) ?? able.at(-1);
  const longest = ms(signer?.until ?? makeAuthority?.until ?? now);
  const fresh = validFor(now, LIFETIMES.serving);
  const until = new Date(Math.min(ms(fresh.until), longest));
  const missing = names.filter((name) => !serving?.names.includes(name));
  const trusted = serving !== undefined && serving.until > now && keep.some(({ cert }) => cert === serving.signedBy);
  const due = trusted ? ms(serving.until) - LIFETIMES.renewServingBefore : ms(now);
  // An authority at its end signs nothing that lives longer: the next one will.
  const helps = !trusted || ms(until) > ms(serving.until) + DAY;
  const renew = missing.length > 0 || (due <= ms(now) && helps);
  // Replicas with other names share the certificate: none takes the other's names off.
  const all = [...new Set([...(trusted ? serving.names : []), ...names])];
  const events = [
    ms(nextDue),
    ...able.map(takesOverAt),
    ...keep.map((authority) => ms(authority.until)),
    renew ? ms(until) - LIFETIMES.renewServingBefore : due,
  ];
  const later = events.filter((at) => at > ms(now));
  return {
    keep,
    makeAuthority,
    serve: renew ? { signer, names: all, from: fresh.from, until } : undefined,
    changes: renew || makeAuthority !== undefined || keep.length < have.authorities.length,
    lookAgainAt: new Date(Math.min(...later, ms(now) + DAY)),
  };
}
