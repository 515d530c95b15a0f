import type { ApiObject } from '../../object.ts';
import { invalidValue, unsupportedValue } from '../../registry/errors.ts';
import { jsonEquals } from '../../registry/object-text.ts';
import type { StatusCause } from '../../status.ts';
import { Findings } from '../findings.ts';
import { child, items, look, type Plain, preset, text } from '../plain.ts';
import { podSpecCauses } from '../pod/validate.ts';
import { strategy, withStatus } from './apps.ts';
import { isTimeZone, parseSchedule, ScheduleError } from './cron.ts';
import {
  failurePolicyFindings,
  indexFindings,
  managedByFindings,
  replacementFindings,
  successPolicyFindings,
} from './job-rules.ts';
import { selectorCauses } from './selector.ts';
import { defaultTemplate, matchCauses, templateMetaCauses } from './template.ts';

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
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  spec.manualSelector ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  for (const rule of items(spec.podFailurePolicy, 'rules')) {
    for (const pattern of items(rule, 'onPodConditions')) preset(pattern, 'status', 'True');
  }
}

const OWN_LABELS = ['batch.kubernetes.io/controller-uid', 'controller-uid'];
const NAME_LABELS = ['batch.kubernetes.io/job-name', 'job-name'];

/** Labels by which a job finds its own pods, and the selector over them. */
function selectOwnPods(job: ApiObject): void {
  const spec = child(job, 'spec');
  // Who picks the pods by hand says so; a selector that is given otherwise is refused.
  if (spec.manualSelector === true || spec.selector !== undefined) return;
  const { uid = '', name = '' } = job.metadata;
  const meta = child(child(spec, 'template'), 'metadata');
  const added: Record<string, string> = {};
  for (const label of OWN_LABELS) added[label] = uid;
  for (const label of NAME_LABELS) added[label] = name;
  meta.labels = { ...look(meta, 'labels'), ...added };
  spec.selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}

const RESTARTS = ['OnFailure', 'Never'];

/** Causes of a job's spec. `template`: a cron job's, whose jobs find their pods by themselves. */
function jobSpecCauses(spec: Plain, path: string, template = false): StatusCause[] {
  const findings = new Findings();
  const podSpec = look(spec, 'template', 'spec');
  const at = `${path}.template.spec`;
  for (const field of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
  ]) {
    findings.notNegative(`${path}.${field}`, spec[field]);
  }
  indexFindings(findings, spec, path);
  if (spec.podFailurePolicy !== undefined) failurePolicyFindings(findings, spec, path);
  if (spec.successPolicy !== undefined) successPolicyFindings(findings, spec, path);
  replacementFindings(findings, spec, path);
  managedByFindings(findings, spec, path);
  findings.add(templateMetaCauses(look(spec, 'template'), `${path}.template`));
  const policy = text(podSpec, 'restartPolicy');
  // A policy that is not given is the job's to ask for.
  findings.add(podSpecCauses(policy === '' ? { ...podSpec, restartPolicy: 'Never' } : podSpec, at));
  if (policy === '') {
    findings.required(`${at}.restartPolicy`, 'valid values: "OnFailure", "Never"');
  } else findings.oneOf(`${at}.restartPolicy`, policy, RESTARTS);
  if (template && spec.manualSelector === true) {
    findings.add([unsupportedValue(`${path}.manualSelector`, true, ['nil', 'false'])]);
  }
  return findings.causes;
}

/** The selector of a job that is given one, or of one that got its own. */
function jobSelectorCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  const spec = look(object, 'spec');
  const { selector } = spec;
  let wrong: readonly StatusCause[] = [];
  if (selector === undefined) findings.required('spec.selector');
  else {
    wrong = selectorCauses(selector, 'spec.selector');
    findings.add(wrong);
  }
  const own = object.metadata.uid ?? '';
  const isGiven = spec.manualSelector !== true && look(selector, 'matchLabels')[OWN_LABELS[0] ?? ''] !== own;
  if (selector !== undefined && isGiven) findings.invalid('spec.selector', selector, '`selector` not auto-generated');
  if (wrong.length === 0) findings.add(matchCauses(selector, spec));
  return findings.causes;
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
  causes: (object) => [...jobSpecCauses(look(object, 'spec'), 'spec'), ...jobSelectorCauses(object)],
  change: jobChange,
});

const CONCURRENCY = ['Allow', 'Forbid', 'Replace'];
const LONGEST_NAME = 52;

function scheduleCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  const spec = look(object, 'spec');
  const schedule = text(spec, 'schedule');
  const field = 'spec.schedule';
  if (schedule === '') findings.required(field);
  else {
    if (/^(CRON_)?TZ=/.test(schedule)) {
      const why = 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead';
      findings.invalid(field, schedule, why);
    }
    try {
      parseSchedule(schedule.replace(/^(CRON_)?TZ=\S+\s+/, ''));
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      findings.invalid(field, schedule, error.message);
    }
  }
  findings.notNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds);
  if (spec.timeZone !== undefined) zoneFindings(findings, text(spec, 'timeZone'));
  findings.oneOf('spec.concurrencyPolicy', spec.concurrencyPolicy, CONCURRENCY, true);
  findings.add(jobSpecCauses(look(spec, 'jobTemplate', 'spec'), 'spec.jobTemplate.spec', true));
  findings.notNegative('spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit);
  findings.notNegative('spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit);
  if ((object.metadata.name ?? '').length > LONGEST_NAME) {
    findings.invalid('metadata.name', object.metadata.name, `must be no more than ${LONGEST_NAME} characters`);
  }
  return findings.causes;
}

function zoneFindings(findings: Findings, zone: string): void {
  const field = 'spec.timeZone';
  if (zone === '') findings.invalid(field, zone, 'timeZone must be nil or non-empty string');
  else if (zone.toLowerCase() === 'local') {
    findings.invalid(
      field,
      zone,
      'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    );
  } else if (!isTimeZone(zone)) findings.invalid(field, zone, `unknown time zone ${zone}`);
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
  causes: scheduleCauses,
});
