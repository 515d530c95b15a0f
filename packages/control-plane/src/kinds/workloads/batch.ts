import { invalidValue, unsupportedValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems } from '../../apimachinery/errors/names.ts';
import { given } from '../../apimachinery/objects/empties.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { child, items, labels, look, type Plain, preset, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { selectorOf } from '../../selectors/label-selector.ts';
import { selectorCauses, shownSelector } from '../base/selector.ts';
import { type Strategy, strategy, withStatus } from '../base/strategy.ts';
import { inOrder, internalForm } from '../internal/form.ts';
import { isTimeZone, parseSchedule, ScheduleError } from './cron.ts';
import {
  failurePolicyFindings,
  indexFindings,
  managedByFindings,
  replacementFindings,
  successPolicyFindings,
} from './job-rules.ts';
import { jobStatusCauses } from './job-status.ts';
import { defaultTemplate, matchCauses, podTemplateCauses } from './template.ts';

const UNLIMITED_BACKOFF = 2_147_483_647;

/** @param template Whether the spec is the template of a CronJob. */
function defaultJobSpec(spec: Plain, template: boolean): void {
  defaultTemplate(spec);
  for (const rule of items(spec.podFailurePolicy, 'rules')) {
    for (const pattern of items(rule, 'onPodConditions')) preset(pattern, 'status', 'True');
  }
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
}

const OWN_LABELS = ['batch.kubernetes.io/controller-uid', 'controller-uid'];
const NAME_LABELS = ['batch.kubernetes.io/job-name', 'job-name'];

function selectOwnPods(job: ApiObject): void {
  const spec = child(job, 'spec');
  // A user may set a selector only with `manualSelector`. Without `manualSelector`, the selector must contain the
  // generated labels.
  if (spec.manualSelector === true) return;
  const { uid = '', name = '' } = job.metadata;
  const meta = child(child(spec, 'template'), 'metadata');
  const added: Record<string, string> = {};
  for (const label of OWN_LABELS) added[label] = uid;
  for (const label of NAME_LABELS) added[label] = name;
  meta.labels = { ...look(meta, 'labels'), ...added };
  const selector = child(spec, 'selector');
  selector.matchLabels = { ...look(selector, 'matchLabels'), 'batch.kubernetes.io/controller-uid': uid };
}

const RESTARTS = ['OnFailure', 'Never'];

/** @param template Whether the spec is the template of a CronJob. The jobs of a CronJob get generated selectors. */
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
  findings.add(podTemplateCauses(look(spec, 'template'), `${path}.template`));
  const policy = text(podSpec, 'restartPolicy');
  // Pods have the default restart policy Always, which is invalid for jobs.
  if (policy === 'Always') {
    findings.required(`${at}.restartPolicy`, 'valid values: "OnFailure", "Never"');
  } else findings.oneOf(`${at}.restartPolicy`, policy, RESTARTS);
  const selector = template ? given(spec, 'selector') : null;
  if (selector !== null) {
    findings.invalid(`${path}.selector`, shownSelector(selector), '`selector` will be auto-generated');
  }
  if (template && spec.manualSelector === true) {
    findings.add([unsupportedValue(`${path}.manualSelector`, true, ['nil', 'false'])]);
  }
  return findings.causes;
}

/**
 * Validates the labels that the server generates for a Job.
 * @see k8s.io/kubernetes pkg/apis/batch/validation `validateGeneratedSelector`
 */
function ownSelectorCauses(object: ApiObject, old?: ApiObject): StatusCause[] {
  const spec = look(object, 'spec');
  const { selector } = spec;
  if (spec.manualSelector === true || selector === undefined) return [];
  const findings = new Findings();
  const given = labels(look(spec, 'template', 'metadata'), 'labels');
  const { uid = '', name = '' } = object.metadata;
  const expected: Record<string, string> = {};
  for (const label of [...OWN_LABELS, ...NAME_LABELS]) expected[label] = OWN_LABELS.includes(label) ? uid : name;
  const prefixed = Object.keys(expected).filter((one) => one.includes('/'));
  const before = old === undefined ? expected : labels(look(old, 'spec', 'template', 'metadata'), 'labels');
  if (prefixed.some((label) => before[label] === undefined)) {
    for (const label of prefixed.splice(0)) delete expected[label];
  }
  for (const label of ['controller-uid', 'job-name', ...prefixed]) {
    const field = `spec.template.metadata.labels[${label}]`;
    const why = `must be '${expected[label]}'`;
    if (given[label] === undefined) findings.required(field, why);
    else if (given[label] !== expected[label]) findings.invalid(field, inOrder(given), why);
  }
  const isReadable = selectorCauses(selector, 'spec.selector').length === 0;
  if (isReadable && !selectorOf(selector as Parameters<typeof selectorOf>[0])(expected)) {
    findings.invalid('spec.selector', shownSelector(selector), '`selector` not auto-generated');
  }
  return findings.causes;
}

/** Validates that the selector of a job matches its pods (`ValidateJobSpec`). */
function wholeSpecCauses(spec: Plain): StatusCause[] {
  const findings = new Findings();
  const { selector } = spec;
  findings.add(jobSpecCauses(spec, 'spec'));
  const wrong = selector === undefined ? [] : selectorCauses(selector, 'spec.selector');
  if (selector === undefined) findings.required('spec.selector');
  findings.add(wrong);
  if (wrong.length === 0) findings.add(matchCauses(selector, spec));
  return findings.causes;
}

const SCHEDULING = ['nodeSelector', 'tolerations', 'schedulingGates'];

/**
 * Returns whether the placement and the resources of pods may change. The job must be suspended and must have no active
 * pods (`shouldAllowMutablePodTemplate`). If the job has already started, its condition `Suspended` must be true too.
 */
function isTemplateOpen(old: ApiObject): boolean {
  const status = look(old, 'status');
  const isSuspended = items(status, 'conditions').some((each) => each.type === 'Suspended' && each.status === 'True');
  return (
    look(old, 'spec').suspend === true &&
    (status.startTime === undefined || isSuspended) &&
    (status.active === undefined || status.active === 0)
  );
}

function take(holder: Plain, from: Plain, field: string): void {
  if (from[field] === undefined) delete holder[field];
  else holder[field] = from[field];
}

/** Returns the old pod spec with the changes that a suspended job permits (`validatePodTemplateUpdate`). */
function openedSpec(spec: Plain, before: Plain): Plain {
  const expected = { ...before };
  for (const field of SCHEDULING) take(expected, spec, field);
  if (spec.affinity !== undefined || before.affinity !== undefined) {
    const affinity = { ...look(before, 'affinity') };
    take(affinity, look(spec, 'affinity'), 'nodeAffinity');
    if (spec.affinity === undefined && Object.keys(affinity).length === 0) delete expected.affinity;
    else expected.affinity = affinity;
  }
  for (const list of ['containers', 'initContainers']) {
    const containers = items(spec, list);
    const old = items(before, list);
    if (old.length === 0 || containers.length !== old.length) continue;
    expected[list] = old.map((container, index) => {
      const changed = { ...container };
      const now = containers[index];
      if (now !== undefined && now.name === container.name) take(changed, now, 'resources');
      return changed;
    });
  }
  return expected;
}

/** Formats the pod template for error messages: sorts the labels, and omits empty metadata. */
function shownTemplate(template: Plain): Plain {
  const { metadata, ...rest } = template;
  if (!isRecord(metadata)) return rest;
  const given = labels(metadata, 'labels');
  if (Object.keys(given).length === 0) return { ...rest, metadata };
  return { ...rest, metadata: { ...metadata, labels: inOrder(given) } };
}

function templateChange(template: Plain, old: ApiObject): StatusCause[] {
  const before = look(old, 'spec', 'template');
  const why = 'field is immutable';
  if (!isTemplateOpen(old)) {
    if (jsonEquals(shownTemplate(template), shownTemplate(before))) return [];
    return [invalidValue('spec.template', internalForm('PodTemplateSpec', shownTemplate(template)), why)];
  }
  const spec = look(template, 'spec');
  const expected = openedSpec(spec, look(before, 'spec'));
  return jsonEquals(spec, expected) ? [] : [invalidValue('spec.template.spec', internalForm('PodSpec', spec), why)];
}

/** Validates a change of the completions. */
function completionsChange(spec: Plain, before: Plain): StatusCause[] {
  if (spec.completionMode !== 'Indexed') return immutableCauses(spec, before, ['completions']);
  if (spec.completions === before.completions || spec.completions === spec.parallelism) return [];
  const why = 'can only be modified in tandem with spec.parallelism';
  return [invalidValue('spec.completions', spec.completions ?? null, why)];
}

const SHOWN_AS: Readonly<Record<string, string>> = {
  podFailurePolicy: 'PodFailurePolicy',
  successPolicy: 'SuccessPolicy',
};

function shownField(spec: Plain, field: string): unknown {
  const value = spec[field];
  if (field === 'selector') return shownSelector(value);
  const structure = SHOWN_AS[field];
  return structure !== undefined && isRecord(value) ? internalForm(structure, value) : (value ?? null);
}

function immutableCauses(spec: Plain, before: Plain, fields: readonly string[]): StatusCause[] {
  return fields
    .filter((field) => !jsonEquals(spec[field], before[field]))
    .map((field) => invalidValue(`spec.${field}`, shownField(spec, field), 'field is immutable'));
}

/** Validates an update of a Job (`ValidateJobSpecUpdate`). */
function jobChange(object: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(object, 'spec');
  const before = look(old, 'spec');
  const causes = [
    ...wholeSpecCauses(spec),
    ...completionsChange(spec, before),
    ...immutableCauses(spec, before, ['selector']),
    ...templateChange(look(spec, 'template'), old),
  ];
  const others = ['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'];
  return [...causes, ...immutableCauses(spec, before, others)];
}

const jobRules = strategy({
  setDefaults: (object) => {
    const spec = child(object, 'spec');
    defaultJobSpec(spec, false);
    const templateLabels = look(spec, 'template', 'metadata').labels;
    // As in kube-apiserver, the Job and its template share one map of labels.
    if (Object.keys(object.metadata.labels ?? {}).length === 0 && templateLabels !== undefined) {
      object.metadata.labels = templateLabels as Record<string, string>;
    }
  },
  // If a stored Job has no labels, responses contain the labels of its template.
  defaultsOnRead(object) {
    const own = labels(look(object, 'spec', 'template', 'metadata'), 'labels');
    if (Object.keys(object.metadata.labels ?? {}).length > 0 || Object.keys(own).length === 0) return false;
    object.metadata.labels = { ...own };
    return true;
  },
  prepareForCreate(object) {
    object.status = {};
    const isShared =
      object.metadata.labels !== undefined &&
      object.metadata.labels === look(object, 'spec', 'template', 'metadata').labels;
    selectOwnPods(object);
    if (isShared) object.metadata.labels = { ...labels(look(object, 'spec', 'template', 'metadata'), 'labels') };
  },
  causes: (object, old) => [...ownSelectorCauses(object, old), ...wholeSpecCauses(look(object, 'spec'))],
  change: jobChange,
  statusCauses: jobStatusCauses,
});

function hostNameCauses(job: ApiObject): StatusCause[] {
  const { completionMode, completions } = look(job, 'spec');
  if (completionMode !== 'Indexed' || typeof completions !== 'number' || completions <= 0) return [];
  const { name = '' } = job.metadata;
  const host = `${name}-${completions - 1}`;
  if (labelProblems(host).length === 0) return [];
  return [invalidValue('metadata.name', name, `will not able to create pod with invalid DNS label: ${host}`)];
}

export const jobStrategy: Strategy = {
  ...jobRules,
  validate: (job, context) => [...(jobRules.validate?.(job, context) ?? []), ...hostNameCauses(job)],
};

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
