import { duplicateValue } from '../../apimachinery/errors/causes.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { subdomainProblems } from '../../apimachinery/errors/names.ts';
import { webhookServiceFindings, webhookUrlFindings } from '../../apimachinery/errors/webhook-client.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { child, items, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { serviceNameProblems } from '../base/formats.ts';
import { selectorCauses } from '../base/selector.ts';
import { strategy } from '../base/strategy.ts';
import { conditionCauses, webhookVariables } from './expressions.ts';
import { ruleFindings } from './match-rules.ts';

const FAILURE_POLICIES = ['Fail', 'Ignore'];
const SIDE_EFFECTS = ['None', 'NoneOnDryRun'];
const VERSIONS = ['v1', 'v1beta1'];
const TIMEOUT_SECONDS = 10;
const LONGEST_TIMEOUT = 30;
const NAME_SEGMENTS = 3;

function defaultWebhook(webhook: Plain, mutating: boolean): void {
  presets(webhook);
  webhook.timeoutSeconds ??= TIMEOUT_SECONDS;
  if (mutating) webhook.reinvocationPolicy ??= 'Never';
  for (const rule of items(webhook, 'rules')) rule.scope ??= '*';
  const service = look(webhook, 'clientConfig').service;
  if (isRecord(service)) service.port ??= 443;
}

function presets(holder: Plain): void {
  holder.failurePolicy ??= 'Fail';
  holder.matchPolicy ??= 'Equivalent';
  child(holder, 'namespaceSelector');
  child(holder, 'objectSelector');
}

function clientCauses(webhook: Plain, path: string): StatusCause[] {
  const findings = new Findings();
  const { url, service } = look(webhook, 'clientConfig');
  if ((url === undefined) === (service === undefined)) {
    findings.required(path, 'exactly one of url or service is required');
  } else if (typeof url === 'string') webhookUrlFindings(findings, url, `${path}.url`);
  else if (isRecord(service)) webhookServiceFindings(findings, service, `${path}.service`);
  return findings.causes;
}

function webhookCauses(webhook: Plain, path: string): StatusCause[] {
  const findings = new Findings();
  const name = text(webhook, 'name');
  if (name === '') findings.required(`${path}.name`);
  const problems = name === '' ? [] : subdomainProblems(name);
  findings.problems(`${path}.name`, name, problems);
  if (name !== '' && problems.length === 0 && name.split('.').length < NAME_SEGMENTS) {
    findings.invalid(`${path}.name`, name, 'should be a domain with at least three segments separated by dots');
  }
  for (const [index, rule] of items(webhook, 'rules').entries()) {
    ruleFindings(findings, rule, `${path}.rules[${index}]`);
  }
  findings.oneOf(`${path}.failurePolicy`, webhook.failurePolicy, FAILURE_POLICIES);
  if (webhook.matchPolicy !== undefined)
    findings.oneOf(`${path}.matchPolicy`, webhook.matchPolicy, ['Equivalent', 'Exact']);
  if (webhook.sideEffects === undefined) {
    findings.required(`${path}.sideEffects`, `must specify one of ${SIDE_EFFECTS.join(', ')}`);
  } else findings.oneOf(`${path}.sideEffects`, webhook.sideEffects, SIDE_EFFECTS);
  const seconds = number(webhook, 'timeoutSeconds');
  if (seconds !== undefined && (seconds < 1 || seconds > LONGEST_TIMEOUT)) {
    const why = `the timeout value must be between 1 and ${LONGEST_TIMEOUT} seconds`;
    findings.invalid(`${path}.timeoutSeconds`, seconds, why);
  }
  for (const field of ['namespaceSelector', 'objectSelector']) {
    if (isRecord(webhook[field])) findings.add(selectorCauses(webhook[field], `${path}.${field}`));
  }
  findings.add(clientCauses(webhook, `${path}.clientConfig`));
  if (webhook.reinvocationPolicy !== undefined) {
    findings.oneOf(`${path}.reinvocationPolicy`, webhook.reinvocationPolicy, ['IfNeeded', 'Never']);
  }
  if (items(webhook, 'matchConditions').length > 0) {
    findings.add(conditionCauses(webhook, `${path}.matchConditions`, webhookVariables()));
  }
  versionFindings(findings, webhook, `${path}.admissionReviewVersions`);
  return findings.causes;
}

function versionFindings(findings: Findings, webhook: Plain, at: string): void {
  const versions = strings(webhook, 'admissionReviewVersions');
  const list = VERSIONS.join(', ');
  if (versions.length === 0) {
    findings.required(at, `must specify one of ${list}`);
    return;
  }
  for (const [index, version] of versions.entries()) {
    if (versions.indexOf(version) < index) findings.invalid(`${at}[${index}]`, version, 'duplicate version');
    findings.problems(`${at}[${index}]`, version, serviceNameProblems(version));
  }
  if (!versions.some((version) => VERSIONS.includes(version))) {
    findings.invalid(at, versions, `must include at least one of ${list}`);
  }
}

const webhookStrategy = (mutating: boolean) =>
  strategy({
    setDefaults(object) {
      for (const webhook of items(object, 'webhooks')) defaultWebhook(webhook, mutating);
    },
    causes(object: ApiObject) {
      const names = new Set<string>();
      return items(object, 'webhooks').flatMap((webhook, index) => {
        const at = `webhooks[${index}]`;
        const causes = webhookCauses(webhook, at);
        const name = text(webhook, 'name');
        if (name !== '' && names.has(name)) causes.push(duplicateValue(`${at}.name`, name));
        names.add(name);
        return causes;
      });
    },
  });

export const validatingWebhookStrategy = webhookStrategy(false);
export const mutatingWebhookStrategy = webhookStrategy(true);
