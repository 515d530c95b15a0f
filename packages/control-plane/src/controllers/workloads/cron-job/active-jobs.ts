import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../../client/api.ts';
import { CRON_JOBS, JOBS } from '../../client/resources.ts';
import type { Recorder } from '../../events/events.ts';
import { namespaceOf } from '../../objects/fields.ts';
import { endOf, referenceTo } from './runs.ts';

/** Writes events about differences between the active jobs in the status of a CronJob and the existing jobs. */
export class ActiveJobs {
  readonly #api: Api;
  readonly #tell: Recorder;

  constructor(api: Api, tell: Recorder) {
    this.#api = api;
    this.#tell = tell;
  }

  async observe(cronJob: ApiObject, own: readonly ApiObject[]): Promise<Plain> {
    const status = look(cronJob, 'status');
    const active: Plain[] = [];
    let lastSuccess = text(status, 'lastSuccessfulTime');
    const known = new Map(items(status, 'active').map((one) => [text(one, 'uid'), one]));
    for (const job of own) {
      const { uid = '', name } = job.metadata;
      const end = endOf(job);
      const before = known.get(uid);
      known.delete(uid);
      if (end === undefined && before === undefined) await this.#reportUnexpected(cronJob, job);
      else if (end === undefined) active.push(before ?? referenceTo(job));
      else if (before !== undefined) {
        this.#tell(cronJob, 'Normal', 'SawCompletedJob', `Saw completed job: ${name}, condition: ${end}`);
      }
      const completed = text(look(job, 'status'), 'completionTime');
      if (end === 'Complete' && completed > lastSuccess) lastSuccess = completed;
    }
    active.push(...(await this.#uncached(cronJob, [...known.values()])));
    return { ...status, active, lastSuccessfulTime: lastSuccess || undefined };
  }

  async #uncached(cronJob: ApiObject, references: readonly Plain[]): Promise<Plain[]> {
    const existing: Plain[] = [];
    for (const one of references) {
      const place = { namespace: namespaceOf(cronJob), name: text(one, 'name') };
      if ((await allowing(this.#api.get(JOBS, place), 404)) !== undefined) existing.push(one);
      else this.#tell(cronJob, 'Normal', 'MissingJob', `Active job went missing: ${text(one, 'name')}`);
    }
    return existing;
  }

  /**
   * Reports a job that the status of the CronJob does not list. The controller reads the status from the API server,
   * because the cache may be outdated.
   */
  async #reportUnexpected(cronJob: ApiObject, { metadata: { uid, name } }: ApiObject): Promise<void> {
    const { namespace, name: owner } = cronJob.metadata;
    const current = await allowing(this.#api.get(CRON_JOBS, { namespace, name: owner }), 404);
    if (current === undefined || items(look(current, 'status'), 'active').some((one) => one.uid === uid)) return;
    const message = `Saw a job that the controller did not create or forgot: ${name}`;
    this.#tell(cronJob, 'Warning', 'UnexpectedJob', message);
  }
}
