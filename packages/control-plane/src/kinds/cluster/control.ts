import { Findings } from '../../apimachinery/errors/findings.ts';
import { pathSegmentProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { child, look, number, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { serviceNameProblems } from '../base/formats.ts';
import { strategy } from '../base/strategy.ts';

const MOST_PRIORITY = 20_000;
const MOST_VERSION_PRIORITY = 1000;

function serviceCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  const spec = look(object, 'spec');
  const group = text(spec, 'group');
  const version = text(spec, 'version');
  const isCore = group === '' && version === 'v1';
  const wanted = `${version}.${group}`;
  for (const field of ['generateName', 'name'] as const) {
    const value = object.metadata[field] ?? '';
    if (value === '' || value === wanted || pathSegmentProblems(value).length > 0) continue;
    findings.invalid(`metadata.${field}`, value, `must be \`spec.version+"."+spec.group\`: "${wanted}"`);
  }
  if (group === '' && !isCore)
    findings.required('spec.group', 'only v1 may have an empty group and it better be legacy kube');
  if (group !== '') findings.problems('spec.group', group, subdomainProblems(group));
  findings.problems('spec.version', version, serviceNameProblems(version));
  const priority = number(spec, 'groupPriorityMinimum') ?? 0;
  if (priority <= 0 || priority > MOST_PRIORITY) {
    const why = `must be positive and less than ${MOST_PRIORITY}`;
    findings.invalid('spec.groupPriorityMinimum', priority, why);
  }
  const rank = number(spec, 'versionPriority') ?? 0;
  if (rank <= 0 || rank > MOST_VERSION_PRIORITY) {
    findings.invalid('spec.versionPriority', rank, `must be positive and less than ${MOST_VERSION_PRIORITY}`);
  }
  const { service } = spec;
  if (!isRecord(service)) {
    if (text(spec, 'caBundle') !== '') {
      findings.invalid(
        'spec.caBundle',
        `${Buffer.from(text(spec, 'caBundle'), 'base64').length} bytes`,
        'local APIServices may not have a caBundle',
      );
    }
    if (spec.insecureSkipTLSVerify === true) {
      findings.invalid('spec.insecureSkipTLSVerify', true, 'local APIServices may not have insecureSkipTLSVerify');
    }
    return findings.causes;
  }
  for (const field of ['namespace', 'name'])
    if (text(service, field) === '') findings.required(`spec.service.${field}`);
  const port = number(service, 'port');
  if (port !== undefined && (port < 1 || port > 65_535)) {
    findings.invalid('spec.service.port', port, 'port is not valid: must be between 1 and 65535, inclusive');
  }
  if (spec.insecureSkipTLSVerify === true && text(spec, 'caBundle') !== '') {
    findings.invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present');
  }
  return findings.causes;
}

/** Returns the condition of an APIService. */
const localCondition = (now: Date): Plain => ({
  type: 'Available',
  status: 'True',
  lastTransitionTime: formatTime(now),
  reason: 'Local',
  message: 'Local APIServices are always available',
});

export const apiServiceStrategy = strategy({
  setDefaults(object) {
    const { service } = child(object, 'spec');
    if (isRecord(service)) service.port ??= 443;
  },
  prepareForCreate(object, { now }) {
    const isLocal = look(object, 'spec').service === undefined;
    object.status = isLocal ? { conditions: [localCondition(now)] } : {};
  },
  causes: serviceCauses,
});

function leaseCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  const spec = look(object, 'spec');
  const seconds = spec.leaseDurationSeconds;
  if (typeof seconds === 'number' && seconds <= 0) {
    findings.invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0');
  }
  findings.notNegative('spec.leaseTransitions', spec.leaseTransitions);
  return findings.causes;
}

/** Removes the Lease fields for coordinated leader election, because Kubernetes disables this feature by default. */
function dropElection(object: ApiObject): void {
  const { spec } = object;
  if (!isRecord(spec)) return;
  delete spec.strategy;
  delete spec.preferredHolder;
}

export const leaseStrategy = strategy({
  prepareForCreate: dropElection,
  prepareForUpdate: dropElection,
  causes: leaseCauses,
});
