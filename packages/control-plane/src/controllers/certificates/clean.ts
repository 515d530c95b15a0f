import { items, look } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { CERTIFICATE_REQUESTS } from '../runtime/resources.ts';
import { hasCondition, isIssued } from './request.ts';

const HOUR_MS = 60 * 60 * 1000;
/** What was answered goes after an hour, what nobody answered after a day. */
const ANSWERED_MS = HOUR_MS;
const PENDING_MS = 24 * HOUR_MS;

/** When a request is of no more use, in milliseconds since the epoch. */
function expires(request: ApiObject): number {
  const times = items(look(request, 'status'), 'conditions')
    .map((condition) => Date.parse(String(condition.lastUpdateTime ?? '')))
    .filter((time) => !Number.isNaN(time));
  const created = Date.parse(request.metadata.creationTimestamp ?? '');
  const answered = isIssued(request) || hasCondition(request, 'Denied') || hasCondition(request, 'Failed');
  return answered ? Math.max(created, ...times) + ANSWERED_MS : created + PENDING_MS;
}

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const requests = informer(CERTIFICATE_REQUESTS);
  const work = queue(async (name) => {
    const request = requests.get(name);
    if (request === undefined) return;
    const at = expires(request);
    if (at > clock.now().getTime()) {
      work.addAt(name, new Date(at));
      return;
    }
    await allowing(api.delete(CERTIFICATE_REQUESTS, { name }), 404, 409);
  });
  requests.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(object.metadata.name ?? '');
  });
}

/**
 * Deletes certificate requests that are done with.
 * @see kubernetes pkg/controller/certificates/cleaner
 */
export const certificateCleaner: Controller = { name: 'csrcleaning', setup };
