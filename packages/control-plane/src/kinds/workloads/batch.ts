import type { ApiObject } from '../../object.ts';
import { invalidValue, requiredValue, unsupportedValue } from '../../registry/errors.ts';
import { jsonEquals } from '../../registry/object-text.ts';
import type { StatusCause } from '../../status.ts';
import { negativeCauses } from '../causes.ts';
import { child, look, type Plain, preset, text } from '../plain.ts';
import { podSpecCauses } from '../pod/validate.ts';
import { strategy, withStatus } from './apps.ts';
import { defaultTemplate } from './template.ts';

const UNLIMITED_BACKOFF = 2_147_483_647;

/** `template`: a cron job's, in which the fields of a running job stay open. */
function defaultJobSpec(spec: Plain, template: boolean): void {
  const podSpec = child(child(spec, 'template'), 'spec');
  const { restartPolicy } = podSpec;
  defaultTemplate(spec);
  // Jobs need a policy other than the pod's default, and say so when none is given.
  if (restartPolicy === undefined) podSpec.restartPolicy = '';
  if (template) return;
  if (spec.completions === undefined && spec.parallelism === undefined) {
    spec.completions = 1;
    spec.parallelism = 1;
  }
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : UNLIMITED_BACKOFF;
  preset(spec, 'completionMode', 'NonIndexed');
  spec.suspend ??= false;
  spec.manualSelector ??= false;
  preset(spec, 'podReplacementPolicy', spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed');
}

const OWN_LABELS = ['batch.kubernetes.io/controller-uid', 'controller-uid'];
const NAME_LABELS = ['batch.kubernetes.io/job-name', 'job-name'];

/** Labels by which a job finds its own pods, and the selector over them. */
function selectOwnPods(job: ApiObject): void {
  const spec = child(job, 'spec');
  if (spec.manualSelector === true) return;
  const { uid = '', name = '' } = job.metadata;
  const meta = child(child(spec, 'template'), 'metadata');
  const added: Record<string, string> = {};
  for (const label of OWN_LABELS) added[label] = uid;
  for (const label of NAME_LABELS) added[label] = name;
  meta.labels = { ...look(meta, 'labels'), ...added };
  spec.selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}

const RESTARTS = ['OnFailure', 'Never'];

function jobSpecCauses(spec: Plain, path: string): StatusCause[] {
  const podSpec = look(spec, 'template', 'spec');
  const policy = text(podSpec, 'restartPolicy');
  const at = `${path}.template.spec`;
  const causes = [
    ...negativeCauses(`${path}.parallelism`, spec.parallelism),
    ...negativeCauses(`${path}.completions`, spec.completions),
    ...negativeCauses(`${path}.backoffLimit`, spec.backoffLimit),
  ];
  const mode = text(spec, 'completionMode');
  if (mode !== '' && mode !== 'NonIndexed' && mode !== 'Indexed') {
    causes.push(unsupportedValue(`${path}.completionMode`, mode, ['NonIndexed', 'Indexed']));
  }
  // The pod is judged with a policy that it may have; the job's own words follow.
  causes.push(...podSpecCauses({ ...podSpec, restartPolicy: 'Never' }, at));
  if (policy === '') causes.push(requiredValue(`${at}.restartPolicy`, 'valid values: "OnFailure", "Never"'));
  else if (!RESTARTS.includes(policy)) causes.push(unsupportedValue(`${at}.restartPolicy`, policy, RESTARTS));
  return causes;
}

function jobChange(object: ApiObject, old: ApiObject): StatusCause[] {
  const causes: StatusCause[] = [];
  const spec = look(object, 'spec');
  const before = look(old, 'spec');
  for (const field of ['completions', 'selector', 'completionMode', 'podFailurePolicy', 'backoffLimitPerIndex']) {
    if (field === 'completions' && spec.completionMode === 'Indexed') continue;
    if (!jsonEquals(spec[field], before[field])) {
      causes.push(invalidValue(`spec.${field}`, spec[field] ?? null, 'field is immutable'));
    }
  }
  const template = look(spec, 'template');
  const oldTemplate = look(before, 'template');
  if (!jsonEquals(template, oldTemplate)) {
    const where = jsonEquals(template.spec, oldTemplate.spec) ? 'spec.template' : 'spec.template.spec';
    causes.push(invalidValue(where, where === 'spec.template' ? template : template.spec, 'field is immutable'));
  }
  return causes;
}

export const jobStrategy = strategy({
  setDefaults: (object) => {
    const spec = child(object, 'spec');
    defaultJobSpec(spec, false);
    const templateLabels = look(spec, 'template', 'metadata').labels;
    if (object.metadata.labels === undefined && templateLabels !== undefined) {
      object.metadata.labels = { ...(templateLabels as Record<string, string>) };
    }
  },
  prepareForCreate(object) {
    object.status = {};
    selectOwnPods(object);
    // A job without labels takes those of its pods, once these are complete.
    object.metadata.labels ??= {
      ...(look(object, 'spec', 'template', 'metadata').labels as Record<string, string>),
    };
  },
  causes: (object) => jobSpecCauses(look(object, 'spec'), 'spec'),
  change: jobChange,
});

const CRON_FIELDS = 5;
const MACROS = /^@(yearly|annually|monthly|weekly|daily|midnight|hourly|every \S+)$/;

function scheduleCauses(schedule: string): StatusCause[] {
  const field = 'spec.schedule';
  if (schedule === '') return [requiredValue(field)];
  if (MACROS.test(schedule)) return [];
  const fields = schedule.trim().split(/\s+/);
  if (fields.length !== CRON_FIELDS) {
    return [
      invalidValue(
        field,
        schedule,
        `expected exactly ${CRON_FIELDS} fields, found ${fields.length}: [${fields.join(' ')}]`,
      ),
    ];
  }
  const wrong = fields.find((part) => !/^[\d*/,\-?A-Za-z]+$/.test(part));
  return wrong === undefined
    ? []
    : [
        invalidValue(
          field,
          schedule,
          `failed to parse int from ${wrong}: strconv.Atoi: parsing "${wrong}": invalid syntax`,
        ),
      ];
}

export const cronJobStrategy = strategy({
  setDefaults(object) {
    const spec = child(object, 'spec');
    preset(spec, 'concurrencyPolicy', 'Allow');
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    defaultJobSpec(child(child(spec, 'jobTemplate'), 'spec'), true);
  },
  prepareForCreate: withStatus(),
  causes(object) {
    const spec = look(object, 'spec');
    return [
      ...scheduleCauses(text(spec, 'schedule')),
      ...jobSpecCauses(look(spec, 'jobTemplate', 'spec'), 'spec.jobTemplate.spec'),
    ];
  },
});
