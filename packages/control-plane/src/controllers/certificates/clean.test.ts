import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { createAuthority } from '../../certificates/authority.ts';
import { expires } from './clean.ts';

const HOUR = 3_600_000;
const CREATED = '2024-01-01T00:00:00Z';
const LATER = '2024-01-01T02:00:00Z';

const request = (status: Record<string, unknown>): ApiObject => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'r', creationTimestamp: CREATED },
  status,
});

const condition = (type: string): Record<string, unknown> => ({ type, status: 'True', lastUpdateTime: LATER });
const certificate = Buffer.from('x').toString('base64');

test.each([
  ['without a decision: a day after its creation', {}, Date.parse(CREATED) + 24 * HOUR],
  ['denied: an hour after', { conditions: [condition('Denied')] }, Date.parse(LATER) + HOUR],
  ['failed: an hour after', { conditions: [condition('Approved'), condition('Failed')] }, Date.parse(LATER) + HOUR],
  ['approved and not signed: a day after', { conditions: [condition('Approved')] }, Date.parse(LATER) + 24 * HOUR],
  ['signed: an hour after', { conditions: [condition('Approved')], certificate }, Date.parse(LATER) + HOUR],
])('a request is deleted in time: %s', (_what, status, at) => {
  expect(expires(request(status))).toBe(at);
});

test('a request is deleted when its certificate expires, if that is earlier', () => {
  const ended = createAuthority(new Date('2010-01-01')).certificate;
  const status = { conditions: [condition('Approved')], certificate: Buffer.from(ended).toString('base64') };
  expect(expires(request(status))).toBeLessThan(Date.parse(CREATED));
});
