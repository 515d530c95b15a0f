import { CRON_JOBS, JOBS } from '../../client/resources.ts';
import { controllerOf, isDying, namespaceOf } from '../../objects/fields.ts';
import { controllerWords } from '../../objects/index-words.ts';
import { keyOf } from '../../objects/keys.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { ActiveJobs } from './active-jobs.ts';
import { CronJobWriter } from './apply.ts';
import { decide, surplusJobs } from './decide.ts';

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const cronJobs = informer(CRON_JOBS);
  const jobs = informer(JOBS);
  const tell = recorder('cronjob-controller');
  const activeJobs = new ActiveJobs(api, tell);
  const writer = new CronJobWriter(api, tell);
  const jobsOf = jobs.index(controllerWords);

  const work = queue(async (key) => {
    const cronJob = cronJobs.get(key);
    if (cronJob === undefined || isDying(cronJob)) return;
    const own = jobsOf(cronJob.metadata.uid ?? '');
    for (const job of surplusJobs(cronJob, own)) await writer.remove(cronJob, job);
    const status = await activeJobs.observe(cronJob, own);
    const { action, events, lookAgainAt } = decide(cronJob, status, clock.now());
    if (lookAgainAt !== undefined) work.addAt(key, lookAgainAt);
    for (const { type, reason, message } of events) tell(cronJob, type, reason, message);
    if (action === 'write') await writer.write(cronJob, status);
    else if (action !== 'none') await writer.run(cronJob, status, action.run, action.replaces);
  });

  cronJobs.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(keyOf(object));
  });
  jobs.onChange(({ object, old }) => {
    for (const job of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(job);
      if (owner?.kind === 'CronJob') work.add(`${namespaceOf(job)}/${owner.name}`);
    }
  });
}

/**
 * @see kubernetes pkg/controller/cronjob
 */
export const cronJobController: Controller = { name: 'cronjob', setup };
