import { duplicateValue } from '../../apimachinery/errors/causes.ts';
import { invalidValue, requiredValue, unsupportedValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { pathSegmentProblems, qualifiedNameProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { child, items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import type { Declaration } from '../../schema/cel/compile.ts';
import { conditionsCauses } from '../base/conditions.ts';
import { serviceNameProblems } from '../base/formats.ts';
import { selectorCauses } from '../base/selector.ts';
import { strategy, withStatus } from '../base/strategy.ts';
import { conditionCauses, expressionCauses, policyVariables, variableCauses } from './expressions.ts';
import { constraintFindings } from './match-rules.ts';

/** Sets the defaults of the `matchConstraints` of a policy, or of the `matchResources` of a binding. */
export function defaultConstraints(matchConstraints: unknown): void {
  if (!isRecord(matchConstraints)) return;
  matchConstraints.matchPolicy ??= 'Equivalent';
  child(matchConstraints, 'namespaceSelector');
  child(matchConstraints, 'objectSelector');
  for (const list of ['resourceRules', 'excludeResourceRules']) {
    for (const rule of items(matchConstraints, list)) rule.scope ??= '*';
  }
}

const NEEDS_RULES = 'validations or auditAnnotations must contain at least one item';

const FAILURE_POLICIES = ['Fail', 'Ignore'];
const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];

/** Validates the field `paramKind`, as `validateParamKind` in Kubernetes. */
function paramKindCauses(paramKind: Plain, at: string): StatusCause[] {
  const findings = new Findings();
  const apiVersion = text(paramKind, 'apiVersion');
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const field = `${at}.apiVersion`;
  if (apiVersion === '') findings.required(field);
  else if (apiVersion.split('/').length > 2) {
    findings.invalid(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  } else {
    const problems = group === '' ? [] : subdomainProblems(group);
    if (problems.length > 0) findings.invalid(field, group, problems.join(','));
    const ofVersion = serviceNameProblems(version);
    if (version === '') findings.invalid(field, apiVersion, 'version must be specified');
    else if (ofVersion.length > 0) findings.invalid(field, version, ofVersion.join(','));
  }
  const kind = text(paramKind, 'kind');
  const ofKind = serviceNameProblems(kind.toLowerCase());
  if (kind === '') findings.required(`${at}.kind`);
  else if (ofKind.length > 0) {
    const why = `may have mixed case, but should otherwise match: ${ofKind.join(',')}`;
    findings.invalid(`${at}.kind`, kind, why);
  }
  return findings.causes;
}

/** Validates the fields of a policy that kube-apiserver checks before the expressions. */
export function formCauses(spec: Plain): StatusCause[] {
  const causes: StatusCause[] = [];
  const policy = text(spec, 'failurePolicy');
  if (!FAILURE_POLICIES.includes(policy)) {
    causes.push(unsupportedValue('spec.failurePolicy', policy, FAILURE_POLICIES));
  }
  if (isRecord(spec.paramKind)) causes.push(...paramKindCauses(spec.paramKind, 'spec.paramKind'));
  if (spec.matchConstraints === undefined) causes.push(requiredValue('spec.matchConstraints'));
  else if (items(spec.matchConstraints, 'resourceRules').length === 0) {
    causes.push(requiredValue('spec.matchConstraints.resourceRules'));
  }
  const findings = new Findings();
  constraintFindings(findings, look(spec, 'matchConstraints'), 'spec.matchConstraints');
  return [...causes, ...findings.causes];
}

function messageCauses(validation: Plain, at: string, variables: readonly Declaration[]): StatusCause[] {
  const causes: StatusCause[] = [];
  const message = text(validation, 'message');
  if (message !== '' && message.trim() === '') {
    causes.push(invalidValue(`${at}.message`, message, 'message must be non-empty if specified'));
  } else if (/[\r\n]/.test(message)) {
    causes.push(invalidValue(`${at}.message`, message, 'must not contain line breaks'));
  } else if (message === '' && /[\r\n]/.test(text(validation, 'expression').trim())) {
    causes.push(requiredValue(`${at}.message`, 'message must be specified if expression contains line breaks'));
  }
  if (text(validation, 'messageExpression') !== '') {
    // When the server evaluates a message expression, the variable `authorizer` does not exist.
    const allowed = variables.filter(({ name }) => name !== 'authorizer');
    causes.push(...expressionCauses(validation, 'messageExpression', at, ['string'], allowed));
  }
  return causes;
}

function validationCauses(spec: Plain, variables: readonly Declaration[]): StatusCause[] {
  const validations = items(spec, 'validations');
  if (validations.length + items(spec, 'auditAnnotations').length === 0) {
    return [requiredValue('spec.validations', NEEDS_RULES), requiredValue('spec.auditAnnotations', NEEDS_RULES)];
  }
  return validations.flatMap((validation, index) => {
    const at = `spec.validations[${index}]`;
    const causes = [
      ...expressionCauses(validation, 'expression', at, ['bool'], variables),
      ...messageCauses(validation, at, variables),
    ];
    const reason = text(validation, 'reason');
    if (validation.reason !== undefined && !REASONS.includes(reason)) {
      causes.push(unsupportedValue(`${at}.reason`, reason, REASONS));
    }
    return causes;
  });
}

function annotationCauses(spec: Plain, name: string, variables: readonly Declaration[]): StatusCause[] {
  const keys = new Set<string>();
  return items(spec, 'auditAnnotations').flatMap((annotation, index) => {
    const at = `spec.auditAnnotations[${index}]`;
    const key = text(annotation, 'key');
    const causes = qualifiedNameProblems(`${name}/${key}`).map((problem) =>
      invalidValue(`${at}.key`, `${name}/${key}`, problem),
    );
    causes.push(...expressionCauses(annotation, 'valueExpression', at, ['string', 'null'], variables));
    if (keys.has(key)) causes.push(duplicateValue(`${at}.key`, key));
    keys.add(key);
    return causes;
  });
}

export const validatingPolicyStrategy = strategy({
  setDefaults(object) {
    const spec = child(object, 'spec');
    spec.failurePolicy ??= 'Fail';
    defaultConstraints(spec.matchConstraints);
  },
  prepareForCreate: withStatus(),
  causes(object) {
    const spec = look(object, 'spec');
    // The expressions of a policy may use its variables, so the function validates the variables first.
    const variables = policyVariables(spec.paramKind !== undefined);
    return [
      ...formCauses(spec),
      ...conditionCauses(spec, 'spec.matchConditions', variables),
      ...variableCauses(spec, variables),
      ...validationCauses(spec, variables),
      ...annotationCauses(spec, object.metadata.name ?? '', variables),
    ];
  },
  statusCauses: policyStatusCauses,
});

function policyStatusCauses({ status }: ApiObject): StatusCause[] {
  const findings = new Findings();
  for (const [index, warning] of items(look(status, 'typeChecking'), 'expressionWarnings').entries()) {
    const at = `status.typeChecking.expressionWarnings[${index}]`;
    if (text(warning, 'warning') === '') findings.required(`${at}.warning`);
    if (text(warning, 'fieldRef') === '') findings.required(`${at}.fieldRef`);
  }
  return [...findings.causes, ...conditionsCauses(status)];
}

export function paramFindings(findings: Findings, ref: unknown): void {
  if (!isRecord(ref)) return;
  const at = 'spec.paramRef';
  const name = text(ref, 'name');
  const { selector } = ref;
  if (name !== '') {
    findings.problems(`${at}.name`, name, pathSegmentProblems(name));
    if (selector !== undefined) findings.forbidden(`${at}.name`, 'name and selector are mutually exclusive');
  }
  if (selector !== undefined) {
    findings.add(selectorCauses(selector, `${at}.selector`));
    if (name !== '') findings.forbidden(`${at}.selector`, 'name and selector are mutually exclusive');
  }
  if (name === '' && selector === undefined) findings.required(at, 'one of name or selector must be specified');
  const action = ref.parameterNotFoundAction;
  if (action === undefined || action === '') findings.required(`${at}.parameterNotFoundAction`);
  else findings.oneOf(`${at}.parameterNotFoundAction`, action, ['Deny', 'Allow']);
}

export const policyBindingStrategy = strategy({
  setDefaults: (object) => defaultConstraints(look(object, 'spec').matchResources),
  causes(object) {
    const spec = look(object, 'spec');
    const actions = strings(spec, 'validationActions');
    const findings = new Findings();
    const { causes } = findings;
    const name = text(spec, 'policyName');
    if (name === '') findings.required('spec.policyName');
    else findings.problems('spec.policyName', name, subdomainProblems(name));
    paramFindings(findings, spec.paramRef);
    constraintFindings(findings, look(spec, 'matchResources'), 'spec.matchResources');
    if (actions.length === 0) findings.required('spec.validationActions', 'at least one validation action is required');
    for (const [index, action] of actions.entries()) {
      const at = `spec.validationActions[${index}]`;
      findings.oneOf(at, action, ['Audit', 'Deny', 'Warn']);
      if (actions.indexOf(action) < index) findings.duplicate(at, action);
    }
    if (actions.includes('Deny') && actions.includes('Warn')) {
      causes.push(
        invalidValue(
          'spec.validationActions',
          actions,
          'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
        ),
      );
    }
    return causes;
  },
});
