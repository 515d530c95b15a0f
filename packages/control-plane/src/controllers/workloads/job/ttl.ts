import { look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { allowing } from '../../client/api.ts';
import { JOBS } from '../../client/resources.ts';
import { isDying } from '../../objects/fields.ts';
import { keyOf, splitKey } from '../../objects/keys.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { isFinished } from './end.ts';

function setupTtl({ api, clock, informer, queue }: ControllerContext): void {
  const jobs = informer(JOBS);
  const work = queue(async (key) => {
    const job = jobs.get(key);
    if (job === undefined || isDying(job) || !isFinished(job)) return;
    const seconds = number(look(job, 'spec'), 'ttlSecondsAfterFinished');
    const end = (look(job, 'status').conditions as Plain[]).find(
      ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
    );
    const since = text(end, 'lastTransitionTime');
    if (seconds === undefined || since === '') return;
    const at = new Date(new Date(since).getTime() + seconds * 1000);
    if (at > clock.now()) return work.addAt(key, at);
    const preconditions = { uid: job.metadata.uid ?? '' };
    await allowing(api.delete(JOBS, splitKey(key), { propagationPolicy: 'Foreground', preconditions }), 404, 409);
  });
  jobs.onChange(({ type, object }) => {
    if (type !== 'deleted' && look(object, 'spec').ttlSecondsAfterFinished !== undefined) work.add(keyOf(object));
  });
}

/** @see kubernetes pkg/controller/ttlafterfinished */
export const ttlAfterFinished: Controller = { name: 'ttl-after-finished', setup: setupTtl };
