import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { formatTime, jsonEquals } from '../../../apimachinery/objects/object-text.ts';
import { items, look, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { StatusError } from '../../../apimachinery/objects/status.ts';
import { type Api, allowing, hasCode } from '../../client/api.ts';
import { CRON_JOBS, JOBS } from '../../client/resources.ts';
import type { Recorder } from '../../events/events.ts';
import { controllerOf, namespaceOf } from '../../objects/fields.ts';
import { isTerminating } from '../pods.ts';
import { endOf, jobOf, referenceTo } from './runs.ts';

export class CronJobWriter {
  readonly #api: Api;
  readonly #tell: Recorder;

  constructor(api: Api, tell: Recorder) {
    this.#api = api;
    this.#tell = tell;
  }

  /** Deletes a job of a CronJob, and writes an event about the deletion. */
  async remove(cronJob: ApiObject, job: ApiObject): Promise<boolean> {
    const { namespace, name, uid = '' } = job.metadata;
    try {
      await this.#api.delete(JOBS, { namespace, name }, { propagationPolicy: 'Background', preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.#tell(cronJob, 'Warning', 'FailedDelete', `Deleted job: ${error.message}`);
      return false;
    }
    this.#tell(cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
    return true;
  }

  async write(cronJob: ApiObject, status: Plain): Promise<void> {
    const old = look(cronJob, 'status');
    const active = items(status, 'active');
    const same =
      jsonEquals(items(old, 'active'), active) &&
      ['lastScheduleTime', 'lastSuccessfulTime'].every((field) => old[field] === status[field]);
    if (same) return;
    const { namespace, name, resourceVersion } = cronJob.metadata;
    const patch = {
      metadata: { resourceVersion },
      status: { ...status, active: active.length === 0 ? null : active },
    };
    await allowing(this.#api.patch(CRON_JOBS, { namespace, name, subresource: 'status' }, patch), 404, 409);
  }

  /**
   * Starts a run of a CronJob.
   * @param replaces whether the controller deletes the running jobs before the run
   */
  async run(cronJob: ApiObject, status: Plain, due: Date, replaces: boolean): Promise<void> {
    if (replaces) await this.#stop(cronJob, items(status, 'active'));
    const active = replaces ? [] : items(status, 'active');
    let made: ApiObject;
    try {
      made = await this.#api.create(JOBS, jobOf(cronJob, due), { namespace: namespaceOf(cronJob) });
      this.#tell(cronJob, 'Normal', 'SuccessfulCreate', `Created job ${made.metadata.name}`);
    } catch (error) {
      if (isTerminating(error)) return;
      if (hasCode(error, 409)) return this.#recall(cronJob, status, due);
      const why = error instanceof Error ? error.message : String(error);
      this.#tell(cronJob, 'Warning', 'FailedCreate', `Error creating job: ${why}`);
      throw error;
    }
    await this.write(cronJob, { ...status, active: [...active, referenceTo(made)], lastScheduleTime: formatTime(due) });
  }

  /** If the CronJob owns an existing job with the name of the run, adds the job to the status. */
  async #recall(cronJob: ApiObject, status: Plain, due: Date): Promise<void> {
    const { name } = look(jobOf(cronJob, due), 'metadata');
    const place = { namespace: namespaceOf(cronJob), name: String(name) };
    const job = await allowing(this.#api.get(JOBS, place), 404);
    if (job === undefined || controllerOf(job)?.uid !== cronJob.metadata.uid) return this.write(cronJob, status);
    const running = endOf(job) === undefined ? [referenceTo(job)] : [];
    const active = [...items(status, 'active'), ...running];
    return this.write(cronJob, { ...status, active, lastScheduleTime: formatTime(due) });
  }

  /** @throws Error if a job cannot be deleted; the next run must wait for the deletion */
  async #stop(cronJob: ApiObject, active: readonly Plain[]): Promise<void> {
    const namespace = namespaceOf(cronJob);
    for (const one of active) {
      const name = text(one, 'name');
      const job = await this.#api.get(JOBS, { namespace, name }).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        this.#tell(cronJob, 'Warning', 'FailedGet', `Get job: ${why}`);
        throw error;
      });
      if (!(await this.remove(cronJob, job))) throw new Error(`could not replace job ${namespace}/${name}`);
    }
  }
}
