import type { ApiObject } from '../../object.ts';
import { invalidValue, requiredValue, unsupportedValue } from '../../registry/errors.ts';
import { subdomainProblems } from '../../registry/names.ts';
import type { StatusCause } from '../../status.ts';
import { child, isPlain, items, look, number, type Plain, preset, strings, text } from '../plain.ts';
import { strategy } from '../workloads/apps.ts';
import { conditionCauses, WEBHOOK_VARIABLES } from './expressions.ts';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const FAILURE_POLICIES = ['Fail', 'Ignore'];
const SIDE_EFFECTS = ['None', 'NoneOnDryRun'];
const VERSIONS = ['v1', 'v1beta1'];
const TIMEOUT_SECONDS = 10;
const LONGEST_TIMEOUT = 30;
const NAME_SEGMENTS = 3;

function defaultWebhook(webhook: Plain, mutating: boolean): void {
  presets(webhook);
  webhook.timeoutSeconds ??= TIMEOUT_SECONDS;
  if (mutating) preset(webhook, 'reinvocationPolicy', 'Never');
  for (const rule of items(webhook, 'rules')) preset(rule, 'scope', '*');
  const service = look(webhook, 'clientConfig').service;
  if (isPlain(service)) service.port ??= 443;
}

/** What webhooks and policies have in common. */
function presets(holder: Plain): void {
  preset(holder, 'failurePolicy', 'Fail');
  preset(holder, 'matchPolicy', 'Equivalent');
  child(holder, 'namespaceSelector');
  child(holder, 'objectSelector');
}

function ruleCauses(rule: Plain, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const operations = strings(rule, 'operations');
  if (operations.length === 0) causes.push(requiredValue(`${path}.operations`));
  for (const [index, operation] of operations.entries()) {
    if (!OPERATIONS.includes(operation)) {
      causes.push(unsupportedValue(`${path}.operations[${index}]`, operation, OPERATIONS));
    }
  }
  for (const field of ['apiGroups', 'apiVersions', 'resources']) {
    if (strings(rule, field).length === 0) causes.push(requiredValue(`${path}.${field}`));
  }
  return causes;
}

function clientCauses(webhook: Plain, path: string): StatusCause[] {
  const { url, service } = look(webhook, 'clientConfig');
  if ((url === undefined) === (service === undefined)) {
    return [requiredValue(path, 'exactly one of url or service is required')];
  }
  if (typeof url !== 'string') return [];
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1] ?? '';
  if (scheme === 'https') return [];
  return [
    invalidValue(`${path}.url`, scheme, "'https' is the only allowed URL scheme; desired format: https://host[/path]"),
  ];
}

/** Causes that one webhook gives, in the order of the real server. */
function webhookCauses(webhook: Plain, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const name = text(webhook, 'name');
  if (name === '') causes.push(requiredValue(`${path}.name`));
  else {
    for (const problem of subdomainProblems(name)) causes.push(invalidValue(`${path}.name`, name, problem));
    if (name.split('.').length < NAME_SEGMENTS) {
      causes.push(
        invalidValue(`${path}.name`, name, 'should be a domain with at least three segments separated by dots'),
      );
    }
  }
  for (const [index, rule] of items(webhook, 'rules').entries()) {
    causes.push(...ruleCauses(rule, `${path}.rules[${index}]`));
  }
  const policy = text(webhook, 'failurePolicy');
  if (!FAILURE_POLICIES.includes(policy)) {
    causes.push(unsupportedValue(`${path}.failurePolicy`, policy, FAILURE_POLICIES));
  }
  const effects = text(webhook, 'sideEffects');
  if (effects === '')
    causes.push(requiredValue(`${path}.sideEffects`, `must specify one of ${SIDE_EFFECTS.join(', ')}`));
  else if (!SIDE_EFFECTS.includes(effects)) {
    causes.push(unsupportedValue(`${path}.sideEffects`, effects, SIDE_EFFECTS));
  }
  const seconds = number(webhook, 'timeoutSeconds');
  if (seconds !== undefined && (seconds < 1 || seconds > LONGEST_TIMEOUT)) {
    causes.push(
      invalidValue(
        `${path}.timeoutSeconds`,
        seconds,
        `the timeout value must be between 1 and ${LONGEST_TIMEOUT} seconds`,
      ),
    );
  }
  causes.push(...clientCauses(webhook, `${path}.clientConfig`));
  causes.push(...conditionCauses(webhook, `${path}.matchConditions`, WEBHOOK_VARIABLES));
  const versions = strings(webhook, 'admissionReviewVersions');
  const list = VERSIONS.join(', ');
  if (versions.length === 0) {
    causes.push(requiredValue(`${path}.admissionReviewVersions`, `must specify one of ${list}`));
  } else if (!versions.some((version) => VERSIONS.includes(version))) {
    causes.push(invalidValue(`${path}.admissionReviewVersions`, versions, `must include at least one of ${list}`));
  }
  return causes;
}

const webhookStrategy = (mutating: boolean) =>
  strategy({
    setDefaults(object) {
      for (const webhook of items(object, 'webhooks')) defaultWebhook(webhook, mutating);
    },
    causes: (object: ApiObject) =>
      items(object, 'webhooks').flatMap((webhook, index) => webhookCauses(webhook, `webhooks[${index}]`)),
  });

export const validatingWebhookStrategy = webhookStrategy(false);
export const mutatingWebhookStrategy = webhookStrategy(true);
