import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ServingPair } from '../server.ts';
import { type Authority, type Certificates, readCertificates, secretData } from './contents.ts';
import { issueAuthority, issueServing } from './issue.ts';
import { type CertificatePlan, LIFETIMES, planCertificates } from './plan.ts';

const DAY = 24 * 3_600_000;
const NOON = new Date('2026-01-01T12:00:00Z');
const NAMES = ['mcm.default.svc', '127.0.0.1'];
const EMPTY: Certificates = { authorities: [], serving: undefined };
const at = (days: number): Date => new Date(NOON.getTime() + days * DAY);

function carriedOut(plan: CertificatePlan, before: Certificates, serial: number): Certificates {
  const made: Authority[] = plan.makeAuthority
    ? [{ cert: `authority ${serial}`, key: `key ${serial}`, ...plan.makeAuthority }]
    : [];
  const authorities = [...made, ...plan.keep];
  if (plan.serve === undefined) return { authorities, serving: before.serving };
  const { names, until, signer } = plan.serve;
  const signedBy = (signer ?? made[0])?.cert ?? 'nobody';
  return { authorities, serving: { cert: `serving ${serial}`, key: 'k', names, until, signedBy } };
}

test('over ten years no client gets a certificate that it does not trust, even if it learns of authorities a day late', () => {
  let state = EMPTY;
  let now = NOON;
  let changes = 0;
  const published: { at: number; certs: readonly string[] }[] = [];
  const wrong: string[] = [];
  const must = (holds: boolean | undefined, what: string) => {
    if (!holds) wrong.push(`${now.toISOString()}: ${what}`);
  };
  for (let looks = 0; now < at(3650); looks++) {
    const plan = planCertificates(state, NAMES, now);
    if (plan.changes) {
      changes++;
      state = carriedOut(plan, state, looks);
      published.push({ at: now.getTime(), certs: state.authorities.map(({ cert }) => cert) });
      must(!planCertificates(state, NAMES, now).changes, 'a second look finds something to do');
    }
    const { serving } = state;
    must(serving && serving.until > now, 'nothing valid is served');
    const known = published.findLast((entry) => entry.at <= now.getTime() - DAY)?.certs ?? published[0]?.certs ?? [];
    must(known.includes(serving?.signedBy ?? ''), 'a client of yesterday does not trust it');
    must(
      state.authorities.some(({ cert, until }) => cert === serving?.signedBy && until > now),
      'its authority is over',
    );
    const wait = plan.lookAgainAt.getTime() - now.getTime();
    must(wait > 0 && wait <= DAY, `the next look is in ${wait} ms`);
    now = plan.lookAgainAt;
  }
  expect(wrong).toEqual([]);
  expect(changes).toBeGreaterThan(60);
  expect(changes).toBeLessThan(120);
  expect(state.authorities.length).toBeLessThanOrEqual(2);
});

test('after a long pause the manager publishes the next authority before it signs with it', () => {
  const first = carriedOut(planCertificates(EMPTY, NAMES, NOON), EMPTY, 1);
  const late = planCertificates(first, NAMES, at(355));
  expect([late.makeAuthority !== undefined, late.serve?.signer?.cert]).toEqual([true, 'authority 1']);
  const state = carriedOut(late, first, 2);
  expect(planCertificates(state, NAMES, at(355)).changes).toBe(false);
  const taken = planCertificates(state, NAMES, at(356.01));
  expect(taken.serve?.signer?.cert).toBe('authority 2');
});

test('a new name is added, and no name is removed', () => {
  const state = carriedOut(planCertificates(EMPTY, ['a'], NOON), EMPTY, 1);
  expect(planCertificates(state, ['b'], NOON).serve?.names).toEqual(['a', 'b']);
  expect(planCertificates(state, ['a'], NOON).changes).toBe(false);
});

test('an authority without its key stays trusted, and a new one is created', () => {
  const state = carriedOut(planCertificates(EMPTY, NAMES, NOON), EMPTY, 1);
  const [authority] = state.authorities;
  if (authority === undefined) throw new Error('no authority');
  const { key: _lost, ...bare } = authority;
  const plan = planCertificates({ ...state, authorities: [bare] }, NAMES, at(1));
  expect([plan.makeAuthority !== undefined, plan.keep.length, plan.serve]).toEqual([true, 1, undefined]);
});

const VALID = { from: at(-1), until: at(90) };
const stored = async (): Promise<{ data: Record<string, string>; ca: ServingPair; serving: ServingPair }> => {
  const ca = await issueAuthority(VALID);
  const serving = await issueServing(ca, NAMES, VALID);
  return { ca, serving, data: secretData([{ ...ca, ...VALID }], serving) };
};

test('real certificates keep names, times and issuer when they are read from the Secret', async () => {
  const { ca, serving, data } = await stored();
  const { authorities, serving: read } = readCertificates(data);
  expect(authorities).toEqual([{ ...ca, ...VALID }]);
  expect(read).toEqual({ ...serving, names: NAMES, until: VALID.until, signedBy: ca.cert });
  const parsed = new X509Certificate(serving.cert);
  expect([parsed.ca, parsed.checkHost('mcm.default.svc'), parsed.checkIP('127.0.0.1'), parsed.keyUsage]).toEqual([
    false,
    'mcm.default.svc',
    '127.0.0.1',
    ['1.3.6.1.5.5.7.3.1'],
  ]);
});

test('damaged parts are created again, and intact parts stay', async () => {
  const { data } = await stored();
  const other = await stored();
  const rubbish = Buffer.from('rubbish').toString('base64');
  expect(readCertificates(undefined)).toEqual(EMPTY);
  expect(readCertificates({ 'ca.crt': rubbish, 'ca.key': rubbish, 'tls.crt': rubbish, 'tls.key': rubbish })).toEqual(
    EMPTY,
  );
  expect(readCertificates({ ...data, 'tls.key': other.data['tls.key'] ?? '' }).serving).toBeUndefined();
  expect(readCertificates({ ...data, 'ca.crt': other.data['ca.crt'] ?? '' }).serving).toBeUndefined();
  const [keyless] = readCertificates({ ...data, 'ca.key': other.data['ca.key'] ?? '' }).authorities;
  expect([keyless !== undefined, keyless?.key]).toEqual([true, undefined]);
});

test('an authority expires after all certificates that it signed', () => {
  expect(LIFETIMES.nextAuthorityBefore).toBeGreaterThan(LIFETIMES.serving + LIFETIMES.overlap);
});
