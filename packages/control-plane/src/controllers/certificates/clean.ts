import { X509Certificate } from 'node:crypto';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, text } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { CERTIFICATE_REQUESTS } from '../client/resources.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { hasCondition, isIssued } from './request.ts';

const HOUR_MS = 60 * 60 * 1000;
/**
 * The controller deletes a signed or denied certificate request after an hour. After a day, the controller deletes a
 * request without a decision, and an approved request without a certificate.
 */
const ANSWERED_MS = HOUR_MS;
const PENDING_MS = 24 * HOUR_MS;

/**
 * Returns the expiry of the issued certificate in milliseconds since the epoch, or Infinity for an unreadable
 * certificate.
 */
function endOfCertificate(request: ApiObject): number {
  const pem = Buffer.from(text(look(request, 'status'), 'certificate'), 'base64');
  try {
    return Date.parse(new X509Certificate(pem).validTo);
  } catch {
    // Another signer may write an invalid certificate. The controller deletes a request with an unreadable certificate
    // only because of its age.
    return Number.POSITIVE_INFINITY;
  }
}

/** Returns the time at which the controller deletes a certificate request, in milliseconds since the epoch. */
export function expires(request: ApiObject): number {
  const conditions = items(look(request, 'status'), 'conditions');
  if (conditions.length === 0) return Date.parse(request.metadata.creationTimestamp ?? '') + PENDING_MS;
  const issued = isIssued(request);
  const ends = conditions.map(({ type, lastUpdateTime }) => {
    const since = Date.parse(String(lastUpdateTime ?? ''));
    if (Number.isNaN(since)) return Number.POSITIVE_INFINITY;
    return since + (type === 'Approved' && !issued ? PENDING_MS : ANSWERED_MS);
  });
  if (issued && hasCondition(request, 'Approved')) ends.push(endOfCertificate(request));
  return Math.min(...ends);
}

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const requests = informer(CERTIFICATE_REQUESTS);
  const work = queue(async (name) => {
    const request = requests.get(name);
    if (request === undefined) return;
    const at = expires(request);
    if (at === Number.POSITIVE_INFINITY) return;
    if (at >= clock.now().getTime()) {
      work.addAt(name, new Date(at + 1));
      return;
    }
    await allowing(api.delete(CERTIFICATE_REQUESTS, { name }), 404, 409);
  });
  requests.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(object.metadata.name ?? '');
  });
}

/**
 * @see kubernetes pkg/controller/certificates/cleaner
 */
export const certificateCleaner: Controller = { name: 'csrcleaning', setup };
