import type { Authority, Certificates } from './contents.ts';
import type { Validity } from './issue.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/**
 * The lifetimes of certificates in milliseconds. A new authority signs only after clients have trusted it for a day, so
 * every client always trusts the served certificate.
 */
export const LIFETIMES = {
  authority: 365 * DAY,
  nextAuthorityBefore: 120 * DAY,
  overlap: DAY,
  serving: 90 * DAY,
  renewServingBefore: 30 * DAY,
  /** A certificate becomes valid this long before its creation, because the clock of a client may be behind. */
  skew: 5 * MINUTE,
} as const;

export interface CertificatePlan {
  readonly keep: readonly Authority[];
  readonly makeAuthority: Validity | undefined;
  readonly serve:
    | ({ readonly signer: Authority | undefined; readonly names: readonly string[] } & Validity)
    | undefined;
  readonly changes: boolean;
  readonly lookAgainAt: Date;
}

const validFor = (now: Date, ms: number): Validity => ({
  from: new Date(now.getTime() - LIFETIMES.skew),
  until: new Date(now.getTime() + ms),
});

const ms = (date: Date): number => date.getTime();

export function planCertificates(have: Certificates, names: readonly string[], now: Date): CertificatePlan {
  const { serving } = have;
  const keep = have.authorities.filter((authority) => authority.until > now);
  const able = keep.filter((authority) => authority.key !== undefined);
  const newest = able[0];
  const nextDue = newest === undefined ? now : new Date(ms(newest.until) - LIFETIMES.nextAuthorityBefore);
  const makeAuthority = nextDue <= now ? validFor(now, LIFETIMES.authority) : undefined;
  const takesOverAt = (authority: Authority): number => ms(authority.from) + LIFETIMES.skew + LIFETIMES.overlap;
  // If some clients do not trust every authority yet, mcm signs with the authority that clients have trusted longest.
  const signer = able.find((authority) => takesOverAt(authority) <= ms(now)) ?? able.at(-1);
  const longest = ms(signer?.until ?? makeAuthority?.until ?? now);
  const fresh = validFor(now, LIFETIMES.serving);
  const until = new Date(Math.min(ms(fresh.until), longest));
  const missing = names.filter((name) => !serving?.names.includes(name));
  const trusted = serving !== undefined && serving.until > now && keep.some(({ cert }) => cert === serving.signedBy);
  const due = trusted ? ms(serving.until) - LIFETIMES.renewServingBefore : ms(now);
  // An authority that expires soon signs no certificate, because a certificate expires with its authority.
  const helps = !trusted || ms(until) > ms(serving.until) + DAY;
  const renew = missing.length > 0 || (due <= ms(now) && helps);
  // A certificate contains the host names of all replicas, because replicas with different host names share it.
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
